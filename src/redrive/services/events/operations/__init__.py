"""The operations of events and their shared functions, all on a transaction."""
