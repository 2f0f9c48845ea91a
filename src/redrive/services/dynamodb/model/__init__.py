"""The stored documents of DynamoDB and its pure rules; nothing here uses a transaction."""
