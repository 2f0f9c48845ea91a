"""Storage for executions: DynamoDB, PostgreSQL, SQLite or memory, one module each."""
