"""The work that events does without a request."""
