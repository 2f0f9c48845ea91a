"""The stored documents of events and its pure rules; nothing here uses a transaction."""
