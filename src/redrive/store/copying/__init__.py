"""Copies of a whole store into another one, of the same kind or of the other."""
