"""The stored documents of ECR; nothing here uses a transaction."""
