"""Databases that a handler speaks SQL to: one SQLite database for each, which the proof owns and rolls back."""
