"""Errands: work that runs between two transactions."""
