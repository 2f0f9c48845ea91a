-- Archived events of EventBridge. `minute` is the minute of an event's own time: replays read minute after minute.
CREATE TABLE archived_events (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, archive TEXT NOT NULL, minute INTEGER NOT NULL, at INTEGER NOT NULL,
  archived_at INTEGER NOT NULL, size INTEGER NOT NULL, event TEXT NOT NULL
);
CREATE INDEX archived_events_by_minute ON archived_events (archive, minute, seq);
CREATE INDEX archived_events_by_age ON archived_events (archive, archived_at, seq);

-- How much an archive holds, by minute.
CREATE TABLE archive_minutes (
  archive TEXT NOT NULL, minute INTEGER NOT NULL, events INTEGER NOT NULL, size INTEGER NOT NULL,
  PRIMARY KEY (archive, minute)
) WITHOUT ROWID;
