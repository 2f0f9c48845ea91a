"""The stored documents of CloudWatch Logs and its pure rules; nothing here uses a transaction."""
