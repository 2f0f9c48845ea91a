"""Minimal changes of a handler's source, derived from the place of a call and the cause of what went wrong there."""
