"""The operations of stepfunctions and their shared functions, all on a transaction."""
