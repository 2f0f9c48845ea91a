CREATE TABLE blobs (digest TEXT NOT NULL PRIMARY KEY, content BLOB NOT NULL);

CREATE TABLE log_events (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, log_group TEXT NOT NULL, stream TEXT NOT NULL,
  at INTEGER NOT NULL, ingested_at INTEGER NOT NULL, message TEXT NOT NULL
);
CREATE INDEX log_events_by_stream ON log_events (log_group, stream, at, seq);
CREATE INDEX log_events_by_time ON log_events (log_group, at, seq);
