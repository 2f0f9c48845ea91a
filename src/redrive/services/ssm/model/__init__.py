"""The stored documents of Parameter Store and its pure rules; nothing here uses a transaction."""
