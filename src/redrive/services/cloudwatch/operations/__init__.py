"""The operations of CloudWatch and their shared functions, all on a transaction."""
