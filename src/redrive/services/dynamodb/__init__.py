"""Amazon DynamoDB: tables with a primary key, and their items: single ones, batches, transactions, expiry.

AWS documents it at https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/Welcome.html.
Left out so far, and refused in clear words: secondary indexes, streams, replicas, resource policies. Not offered:
PartiQL, backups, exports. Throughput settings are kept and shown, and nothing is ever throttled.
The expressions themselves are read and evaluated in languages/dynamo. Our readings of AWS's rules stand in
docs/semantics/dynamodb.md.
"""
