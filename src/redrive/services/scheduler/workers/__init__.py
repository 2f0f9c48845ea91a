"""What happens in EventBridge Scheduler by itself."""
