"""Plays one leg of a history: runs the handler, and lets faults strike at its calls."""
