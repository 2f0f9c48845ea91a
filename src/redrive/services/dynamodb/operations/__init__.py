"""The operations of DynamoDB and their shared functions, all on a transaction."""
