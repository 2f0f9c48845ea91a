"""Upkeep: deleting data that has expired, and writing metrics."""
