-- name: get -- hot
SELECT item FROM items WHERE table_id = ? AND slot = ? AND hash_key = ? AND range_key = ?;

-- name: put -- hot
INSERT INTO items (table_id, slot, hash_key, range_key, size_bytes, expires_at, item)
VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (table_id, slot, hash_key, range_key) DO UPDATE
SET size_bytes = excluded.size_bytes, expires_at = excluded.expires_at, item = excluded.item;

-- name: take -- hot
DELETE FROM items
WHERE table_id = ? AND slot = ? AND hash_key = ? AND range_key = ?
RETURNING item;

-- name: delete_entry -- hot
DELETE FROM items
WHERE table_id = ? AND slot = ? AND hash_key = ? AND range_key = ?;

-- name: ascending -- hot
SELECT hash_key, range_key, size_bytes, item FROM items
WHERE table_id = ? AND slot = ? AND hash_key = ? AND range_key >= ? AND range_key < ?
ORDER BY range_key LIMIT ?;

-- name: descending -- hot
SELECT hash_key, range_key, size_bytes, item FROM items
WHERE table_id = ? AND slot = ? AND hash_key = ? AND range_key >= ? AND range_key < ?
ORDER BY range_key DESC LIMIT ?;

-- name: scan -- hot
SELECT hash_key, range_key, size_bytes, item FROM items
WHERE table_id = :table_id AND (slot, hash_key, range_key) > (:slot, :hash_key, :range_key) AND slot < :slot_end
ORDER BY slot, hash_key, range_key LIMIT :limit;

-- name: totals
SELECT count(*), CAST(coalesce(sum(size_bytes), 0) AS bigint) FROM items WHERE table_id = :table_id;

-- name: copy
INSERT INTO items (table_id, slot, hash_key, range_key, size_bytes, expires_at, item)
SELECT CAST(:to_id AS text), slot, hash_key, range_key, size_bytes, NULL, item FROM items WHERE table_id = :table_id;

-- name: collection_size
SELECT CAST(coalesce(sum(size_bytes), 0) AS bigint) FROM items
WHERE table_id = :table_id AND slot = :slot AND hash_key = :hash_key;

-- name: drop
DELETE FROM items WHERE (table_id, slot, hash_key, range_key) IN (
  SELECT table_id, slot, hash_key, range_key FROM items WHERE table_id = :table_id
  ORDER BY slot, hash_key, range_key LIMIT :limit
);

-- name: set_expiry
UPDATE items SET expires_at = :expires_at
WHERE table_id = :table_id AND slot = :slot AND hash_key = :hash_key AND range_key = :range_key;

-- name: forget_expiries
UPDATE items SET expires_at = NULL WHERE table_id = :table_id AND expires_at IS NOT NULL;

-- name: next_expiry -- hot
SELECT min(expires_at) FROM items WHERE expires_at IS NOT NULL;

-- name: expire -- hot
DELETE FROM items WHERE (table_id, slot, hash_key, range_key) IN (
  SELECT table_id, slot, hash_key, range_key FROM items WHERE expires_at <= :before ORDER BY expires_at LIMIT :limit
);

-- name: take_expired
DELETE FROM items WHERE (table_id, slot, hash_key, range_key) IN (
  SELECT table_id, slot, hash_key, range_key FROM items WHERE expires_at <= :before ORDER BY expires_at LIMIT :limit
) RETURNING expires_at, table_id, hash_key, range_key, item;
