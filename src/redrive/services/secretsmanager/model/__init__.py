"""The stored documents of Secrets Manager and its pure rules; nothing here uses a transaction."""
