"""What IAM keeps and what its rules are, without a transaction."""
