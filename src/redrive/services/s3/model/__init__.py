"""The stored documents of S3, and its pure rules; nothing here uses a transaction."""
