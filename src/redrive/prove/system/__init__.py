"""Whole systems: all functions of a template together, one event in, and the sum at the end."""
