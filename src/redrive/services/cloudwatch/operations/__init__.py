"""The operations of CloudWatch, and what they share: functions of a transaction."""
