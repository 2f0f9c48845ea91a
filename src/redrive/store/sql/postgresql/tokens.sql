-- name: sweep
-- Several nodes share the work. Rows are named by their place (ctid), which is computed once and needs no index.
DELETE FROM tokens WHERE ctid = ANY(ARRAY(
  SELECT ctid FROM tokens WHERE expires_at <= :now ORDER BY expires_at LIMIT :limit FOR UPDATE SKIP LOCKED
)) AND +expires_at <= :now;
