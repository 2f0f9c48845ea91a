-- name: link
-- SQLite stores a boolean as 0 or 1. PostgreSQL refuses a boolean in a column of integers.
INSERT INTO links (run, execution_id, message_id, receive_count, is_done) VALUES (?, ?, ?, ?, CAST(? AS boolean)::int);

-- name: sweep_moves
-- Several nodes share the work: each one skips what another one has locked. An ARRAY is computed once.
DELETE FROM moves WHERE seq = ANY(ARRAY(
  SELECT seq FROM moves WHERE at < :before ORDER BY at LIMIT :limit FOR UPDATE SKIP LOCKED
));
