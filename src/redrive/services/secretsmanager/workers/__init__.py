"""The work that Secrets Manager does without a request."""
