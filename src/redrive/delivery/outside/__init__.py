"""Errands: what happens between two transactions."""
