"""The stored documents of Lambda and its pure rules; nothing here uses a transaction."""
