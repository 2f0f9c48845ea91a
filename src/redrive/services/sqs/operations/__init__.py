"""The operations of SQS, and what they share: functions of a transaction."""
