-- Only messages of FIFO queues have a deduplication id. The first message of a group in a FIFO queue is its head. The
-- group can be received when its head is visible, so only heads are read to find such groups.
CREATE TABLE messages (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, queue TEXT NOT NULL, message_id TEXT NOT NULL,
  body TEXT NOT NULL, body_md5 TEXT NOT NULL, attributes TEXT, system_attributes TEXT, sender_id TEXT NOT NULL,
  group_id TEXT, deduplication_id TEXT, is_head INTEGER NOT NULL DEFAULT 0,
  sent_at INTEGER NOT NULL, visible_at INTEGER NOT NULL, expires_at INTEGER NOT NULL,
  receive_count INTEGER NOT NULL DEFAULT 0, first_received_at INTEGER, received_at INTEGER,
  receipt TEXT NOT NULL DEFAULT '', source_queue_arn TEXT
);
CREATE INDEX messages_by_visibility ON messages (queue, visible_at, seq);
CREATE INDEX messages_by_expiry ON messages (queue, expires_at);
CREATE INDEX messages_by_group ON messages (queue, group_id, seq) WHERE group_id IS NOT NULL;
CREATE INDEX messages_at_head ON messages (queue, visible_at, seq) WHERE is_head = 1;

CREATE TABLE dedup_sends (
  queue TEXT NOT NULL, scope TEXT NOT NULL, id TEXT NOT NULL,
  message_id TEXT NOT NULL, seq INTEGER NOT NULL, expires_at INTEGER NOT NULL,
  PRIMARY KEY (queue, scope, id)
) WITHOUT ROWID;
CREATE INDEX dedup_sends_by_expiry ON dedup_sends (expires_at);

CREATE TABLE dedup_receives (
  queue TEXT NOT NULL, id TEXT NOT NULL,
  receipt TEXT NOT NULL, seqs TEXT NOT NULL, visible_at INTEGER NOT NULL, expires_at INTEGER NOT NULL,
  PRIMARY KEY (queue, id)
) WITHOUT ROWID;
CREATE INDEX dedup_receives_by_expiry ON dedup_receives (expires_at);
