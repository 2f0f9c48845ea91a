"""The stored documents of IAM and its pure rules; nothing here uses a transaction."""
