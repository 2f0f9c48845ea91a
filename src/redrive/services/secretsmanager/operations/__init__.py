"""The operations of Secrets Manager, by what they are about; each docstring has its `Errors:` and its `Source:`."""
