"""DynamoDB's expressions: parsed, and checked without an item."""
