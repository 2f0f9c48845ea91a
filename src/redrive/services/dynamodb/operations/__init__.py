"""The operations of DynamoDB, and what they share: functions of a transaction."""
