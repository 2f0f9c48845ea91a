"""The operations of cloudtrail and their shared functions, all on a transaction."""
