"""The stored documents of EventBridge Scheduler and its pure rules; nothing here uses a transaction."""
