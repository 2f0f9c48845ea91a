"""Amazon DynamoDB: tables and their secondary indexes; single items, batches and transactions; expiry of items.

AWS documents it at https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/Welcome.html. Left out so far, and
refused with a clear message: streams, replicas, exports, an earlier point in time. Provisioned
throughput is enforced while quotas apply. languages/dynamo parses and evaluates expressions, languages/partiql
statements. docs/semantics/dynamodb.md and dynamodb-partiql.md list AWS's rules as we read them.
"""
