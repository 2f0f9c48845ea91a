"""The operations of redrive's own API and their shared functions, all on a transaction."""
