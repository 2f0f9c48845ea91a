"""The stored documents of cloudtrail and its pure rules; nothing here uses a transaction."""
