-- name: begin_run
-- SQLite tells the drawn number beside the answer. PostgreSQL returns a row.
INSERT INTO runs (
  delivery_id, scope, kind, source_arn, target_arn, execution_id, cause, state, first_at, ended_at, left_out,
  left_out_until
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (delivery_id) DO NOTHING RETURNING run;

-- name: begin_once
-- SQLite tells the drawn number beside the answer. PostgreSQL returns a row.
INSERT INTO runs (
  delivery_id, scope, kind, source_arn, target_arn, execution_id, cause, state, first_at, ended_at, is_once, led_to,
  log_stream
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, ?, ?)
ON CONFLICT (delivery_id) DO NOTHING RETURNING run;

-- name: sweep_once
-- Several nodes share the work: each one skips what another one has locked. An ARRAY is computed once.
DELETE FROM runs WHERE run = ANY(ARRAY(
    SELECT run FROM runs WHERE is_once = 1 AND ended_at < :before ORDER BY ended_at LIMIT :limit FOR UPDATE SKIP LOCKED
  ))
RETURNING run;

-- name: sweep
-- Several nodes share the work: each one skips what another one has locked. An ARRAY is computed once.
DELETE FROM attempts WHERE seq = ANY(ARRAY(
    SELECT seq FROM attempts WHERE ended_at < :before ORDER BY ended_at LIMIT :limit FOR UPDATE SKIP LOCKED
  ))
RETURNING run;
