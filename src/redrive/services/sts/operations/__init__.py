"""The operations of STS, and what they share: functions of a transaction."""
