"""Amazon DynamoDB: tables and their secondary indexes; single items, batches and transactions; expiry of items.

AWS documents it at https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/Welcome.html. Left out so far, and
refused with a clear message: streams, replicas, resource policies. Not offered: PartiQL, backups, exports. Throughput
settings are only stored and shown; nothing is ever throttled. languages/dynamo parses and evaluates
expressions. docs/semantics/dynamodb.md lists AWS's rules as we read them.
"""
