"""The inputs and outputs of redrive's own API; nothing here uses a transaction."""
