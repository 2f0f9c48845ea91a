"""What SQS keeps and what its rules are, without a transaction."""
