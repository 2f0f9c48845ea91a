CREATE TABLE messages (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, queue TEXT NOT NULL, message_id TEXT NOT NULL,
  body TEXT NOT NULL, body_md5 TEXT NOT NULL, attributes TEXT, system_attributes TEXT, sender_id TEXT NOT NULL, group_id TEXT,
  sent_at INTEGER NOT NULL, visible_at INTEGER NOT NULL, expires_at INTEGER NOT NULL,
  receive_count INTEGER NOT NULL DEFAULT 0, first_received_at INTEGER, received_at INTEGER,
  receipt TEXT NOT NULL DEFAULT '', source_queue_arn TEXT
);
CREATE INDEX messages_by_visibility ON messages (queue, visible_at, seq);
CREATE INDEX messages_by_expiry ON messages (expires_at);
