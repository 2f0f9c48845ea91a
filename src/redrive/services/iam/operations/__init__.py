"""The operations of IAM and their shared functions, all on a transaction."""
