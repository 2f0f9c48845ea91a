CREATE TABLE deliveries (
  id TEXT NOT NULL PRIMARY KEY, scope TEXT NOT NULL, source TEXT NOT NULL, source_arn TEXT NOT NULL,
  target_arn TEXT NOT NULL, document TEXT NOT NULL, policy TEXT NOT NULL, place TEXT NOT NULL,
  due_at INTEGER NOT NULL, first_at INTEGER NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0, failures INTEGER NOT NULL DEFAULT 0,
  fence INTEGER NOT NULL DEFAULT 0, leases INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX deliveries_by_due ON deliveries (place, due_at, id);
CREATE INDEX deliveries_by_source ON deliveries (source, source_arn);

CREATE TABLE attempts (
  delivery_id TEXT NOT NULL, scope TEXT NOT NULL, source_arn TEXT NOT NULL, attempt INTEGER NOT NULL,
  ended_at INTEGER NOT NULL, code TEXT NOT NULL, message TEXT NOT NULL, verdict TEXT NOT NULL, next_at INTEGER
);
CREATE INDEX attempts_by_delivery ON attempts (delivery_id, attempt);
CREATE INDEX attempts_by_source ON attempts (source_arn, delivery_id, attempt);
CREATE INDEX attempts_by_time ON attempts (ended_at);
