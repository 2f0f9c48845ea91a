"""Calls of the handler: what each asks, how it counts, and answers for services that the engine does not have."""
