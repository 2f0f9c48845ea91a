"""The operations of EventBridge Scheduler, and what they share: functions of a transaction."""
