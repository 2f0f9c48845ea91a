-- name: sweep
-- Several nodes share the work. Rows are named by their place (ctid), which is computed once and needs no index.
DELETE FROM alarm_history WHERE ctid = ANY(ARRAY(
  SELECT ctid FROM alarm_history WHERE at < :before ORDER BY at LIMIT :limit FOR UPDATE SKIP LOCKED
)) AND +at < :before;
