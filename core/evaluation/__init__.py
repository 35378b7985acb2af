"""Is it worth it? Methods against each other on records that nobody fitted, the attacker, sweeps and plans."""

from core.evaluation.rows import COLUMNS, Evaluation, evaluate

__all__ = ["COLUMNS", "Evaluation", "evaluate"]
