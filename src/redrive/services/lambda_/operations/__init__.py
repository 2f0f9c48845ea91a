"""The operations of Lambda and their shared functions, all on a transaction."""
