"""The operations of CloudFormation, and what they share: functions of a transaction."""
