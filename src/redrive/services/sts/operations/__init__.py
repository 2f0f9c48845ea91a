"""The operations of STS and their shared functions, all on a transaction."""
