"""The operations of KMS, by what they are about; the docstring of each has its `Errors:` and its `Source:`."""
