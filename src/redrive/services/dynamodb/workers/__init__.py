"""What happens in DynamoDB by itself."""
