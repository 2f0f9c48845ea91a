"""Guesses at what a handler is given: its event, its variables, the answers of services that redrive does not have."""
