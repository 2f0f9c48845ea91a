-- The slots spread a table's keys evenly: scans are in slot order, and a segment of a scan is a range of slots.
-- The size is stored before the item, so that SQLite can read it without reading the item.
CREATE TABLE items (
  table_id TEXT NOT NULL, slot INTEGER NOT NULL, hash_key BLOB NOT NULL, range_key BLOB NOT NULL,
  size_bytes INTEGER NOT NULL, expires_at INTEGER, item BLOB NOT NULL,
  PRIMARY KEY (table_id, slot, hash_key, range_key)
) WITHOUT ROWID;
CREATE INDEX items_by_expiry ON items (expires_at) WHERE expires_at IS NOT NULL;
