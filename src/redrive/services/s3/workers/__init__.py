"""The due work of S3."""
