"""Calls of the handler: who is asked what, what counts, what a service answers that the engine does not have."""
