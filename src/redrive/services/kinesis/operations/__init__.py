"""The operations of Kinesis and their shared functions, all on a transaction."""
