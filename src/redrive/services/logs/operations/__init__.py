"""The operations of CloudWatch Logs, and what they share: functions of a transaction."""
