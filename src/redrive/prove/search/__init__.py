"""Searches all histories of a handler up to a number of faults; before that, clean runs."""
