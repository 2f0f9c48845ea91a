"""DynamoDB's attribute values: read, compared, measured, stored."""
