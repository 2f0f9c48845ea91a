"""The Lambda Runtime API, and what runs handlers on our side of it."""
