"""The work that stepfunctions does without a request."""
