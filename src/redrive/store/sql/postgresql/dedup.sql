-- name: sweep_sends
-- Several nodes share the work. Rows are named by their place (ctid), which is computed once and needs no index.
DELETE FROM dedup_sends WHERE ctid = ANY(ARRAY(
  SELECT ctid FROM dedup_sends WHERE expires_at <= :now ORDER BY expires_at LIMIT :limit FOR UPDATE SKIP LOCKED
)) AND +expires_at <= :now;

-- name: sweep_receives
-- Several nodes share the work. Rows are named by their place (ctid), which is computed once and needs no index.
DELETE FROM dedup_receives WHERE ctid = ANY(ARRAY(
  SELECT ctid FROM dedup_receives WHERE expires_at <= :now ORDER BY expires_at LIMIT :limit FOR UPDATE SKIP LOCKED
)) AND +expires_at <= :now;
