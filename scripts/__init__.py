"""Helper scripts: what the Makefile calls."""
