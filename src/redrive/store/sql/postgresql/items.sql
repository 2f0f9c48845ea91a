-- name: expire
-- Several nodes share the work. Rows are named by their place (ctid), which is computed once and needs no index.
DELETE FROM items WHERE ctid = ANY(ARRAY(
  SELECT ctid FROM items WHERE expires_at <= :before ORDER BY expires_at LIMIT :limit FOR UPDATE SKIP LOCKED
)) AND +expires_at <= :before;
