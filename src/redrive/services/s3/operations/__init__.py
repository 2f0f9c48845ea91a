"""The operations of S3; the docstring of each has its `Errors:` and its `Source:`."""
