"""The operations of Parameter Store, by what they are about; the docstring of each has its `Errors:` and its `Source:`."""
