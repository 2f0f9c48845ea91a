"""The work that KMS does without a request."""
