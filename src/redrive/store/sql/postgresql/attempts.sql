-- name: begin_run
-- SQLite tells the drawn number beside the answer. PostgreSQL returns a row.
INSERT INTO runs (
  delivery_id, scope, kind, source_arn, target_arn, execution_id, cause, state, first_at, ended_at, left_out,
  left_out_until
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (delivery_id) DO NOTHING RETURNING run;

-- name: sweep
-- Several nodes share the work: each one skips what another one has locked. An ARRAY is computed once.
DELETE FROM attempts WHERE seq = ANY(ARRAY(
    SELECT seq FROM attempts WHERE ended_at < :before ORDER BY ended_at LIMIT :limit FOR UPDATE SKIP LOCKED
  ))
RETURNING run;
