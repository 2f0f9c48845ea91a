"""Amazon DynamoDB: tables with a primary key; operations on single items, batches and transactions; expiry of items.

AWS documents it at https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/Welcome.html. Left out so far, and
refused with a clear message: secondary indexes, streams, replicas, exports, an earlier point in time. Throughput
settings are only stored and shown; nothing is ever throttled. languages/dynamo parses and evaluates expressions,
languages/partiql statements. docs/semantics/dynamodb.md and dynamodb-partiql.md list AWS's rules as we read them.
"""
