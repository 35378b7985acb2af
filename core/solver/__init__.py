"""The optimal channel as a structured linear programme: reductions, interior point, pruning, bounds, fallbacks."""
