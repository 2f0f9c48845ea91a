"""The operations of Parameter Store, by what they are about; each docstring has its `Errors:` and its `Source:`."""
