"""The operations of CloudWatch Logs and their shared functions, all on a transaction."""
