"""Amazon Kinesis Data Streams: streams, their shards and records, readers of shards, and registered consumers.

AWS documents Kinesis at https://docs.aws.amazon.com/kinesis/latest/APIReference/Welcome.html. Left out on purpose:
nothing is encrypted, and on-demand streams do not split their shards by themselves. docs/semantics/kinesis.md lists
AWS's rules as we read them.
"""
