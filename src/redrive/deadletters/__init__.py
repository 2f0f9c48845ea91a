"""Dead letters: what a dead-letter queue holds, why, and how it comes back. It knows AWS by boto3 alone."""
