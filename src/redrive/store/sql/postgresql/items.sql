-- name: put
-- The unique index has the hash key's digest, because long keys do not fit into an index.
INSERT INTO items (table_id, slot, hash_key, range_key, size_bytes, expires_at, item)
VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (table_id, slot, range_key, sha256(hash_key)) DO UPDATE
SET size_bytes = excluded.size_bytes, expires_at = excluded.expires_at, item = excluded.item;

-- name: scan
-- In the order of the unique index. It differs from SQLite's where two hash keys of a table have the same slot. The empty
-- key, with which a scan begins, comes before the first digest.
SELECT hash_key, range_key, size_bytes, item FROM items
WHERE table_id = :table_id AND slot < :slot_end
  AND (slot, range_key, sha256(hash_key))
    > (:slot, :range_key, CASE WHEN CAST(:hash_key AS bytea) = '' THEN '' ELSE sha256(:hash_key) END)
ORDER BY slot, range_key, sha256(hash_key) LIMIT :limit;

-- name: drop
-- In the order of the unique index, see `scan`.
DELETE FROM items WHERE (table_id, slot, range_key, sha256(hash_key)) IN (
  SELECT table_id, slot, range_key, sha256(hash_key) FROM items WHERE table_id = :table_id
  ORDER BY slot, range_key, sha256(hash_key) LIMIT :limit
);

-- name: expire
-- Several nodes share the work. Rows are named by their place (ctid), which is computed once and needs no index.
DELETE FROM items WHERE ctid = ANY(ARRAY(
  SELECT ctid FROM items WHERE expires_at <= :before ORDER BY expires_at LIMIT :limit FOR UPDATE SKIP LOCKED
)) AND +expires_at <= :before;

-- name: take_expired
-- Rows are named by their place (ctid), see `expire`.
DELETE FROM items WHERE ctid = ANY(ARRAY(
  SELECT ctid FROM items WHERE expires_at <= :before ORDER BY expires_at LIMIT :limit
)) AND +expires_at <= :before RETURNING expires_at, table_id, hash_key, range_key, item;
