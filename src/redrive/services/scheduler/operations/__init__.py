"""The operations of EventBridge Scheduler and their shared functions, all on a transaction."""
