"""The operations of the server's own surface, and what they share: functions of a transaction."""
