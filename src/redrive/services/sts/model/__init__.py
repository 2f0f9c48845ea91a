"""What STS keeps and what its rules are, without a transaction."""
