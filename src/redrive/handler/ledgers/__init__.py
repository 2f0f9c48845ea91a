"""Where executions are recorded: DynamoDB, PostgreSQL, SQLite or memory. Each module is one place."""
