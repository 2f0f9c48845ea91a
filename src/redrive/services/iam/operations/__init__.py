"""The operations of IAM, and what they share: functions of a transaction."""
