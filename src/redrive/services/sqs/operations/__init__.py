"""The operations of SQS and their shared functions, all on a transaction."""
