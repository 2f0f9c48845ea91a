CREATE TABLE items (
  table_id TEXT NOT NULL, hash_key BLOB NOT NULL, range_key BLOB NOT NULL,
  item BLOB NOT NULL, size_bytes INTEGER NOT NULL, expires_at INTEGER,
  PRIMARY KEY (table_id, hash_key, range_key)
) WITHOUT ROWID;
CREATE INDEX items_by_expiry ON items (table_id, expires_at) WHERE expires_at IS NOT NULL;
