-- Records of streams, of Kinesis and of DynamoDB. A shard numbers its records; `at` never falls within a shard.
CREATE TABLE stream_records (
  shard text COLLATE "C" NOT NULL, seq bigint NOT NULL, at bigint NOT NULL, partition_key text COLLATE "C" NOT NULL,
  data bytea NOT NULL,
  PRIMARY KEY (shard, seq)
);
