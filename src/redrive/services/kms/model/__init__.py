"""The stored documents of KMS and its pure rules; nothing here uses a transaction."""
