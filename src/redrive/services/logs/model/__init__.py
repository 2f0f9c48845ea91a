"""What CloudWatch Logs keeps and what its rules are, without a transaction."""
