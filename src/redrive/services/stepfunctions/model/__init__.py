"""The stored documents of stepfunctions and its pure rules; nothing here uses a transaction."""
