"""What happens in SQS by itself."""
