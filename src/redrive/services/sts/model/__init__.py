"""The pure rules of STS; nothing here uses a transaction."""
