"""The work that SQS does without a request."""
