"""The stored documents of SQS and its pure rules; nothing here uses a transaction."""
