"""The due work of stepfunctions, beat by beat."""
