"""The work that DynamoDB does without a request."""
