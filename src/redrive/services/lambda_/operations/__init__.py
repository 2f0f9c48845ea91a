"""The operations of Lambda, and what they share: functions of a transaction."""
