"""The operations of ECR; the docstring of each has its `Errors:` and its `Source:`."""
