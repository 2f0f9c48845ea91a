-- Records of streams, of Kinesis and of DynamoDB. A shard numbers its records; `at` never falls within a shard.
CREATE TABLE stream_records (
  shard TEXT NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL, partition_key TEXT NOT NULL, data BLOB NOT NULL,
  PRIMARY KEY (shard, seq)
) WITHOUT ROWID;
