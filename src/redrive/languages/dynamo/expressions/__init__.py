"""DynamoDB's expressions: read, and checked without an item."""
