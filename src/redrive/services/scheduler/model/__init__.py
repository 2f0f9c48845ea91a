"""What EventBridge Scheduler keeps and what its rules are, without a transaction."""
