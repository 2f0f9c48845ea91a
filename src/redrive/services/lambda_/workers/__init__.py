"""The work that Lambda does without a request."""
