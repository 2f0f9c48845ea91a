-- name: begin_run -- does nothing if the delivery has a run
INSERT INTO runs (
  delivery_id, scope, kind, source_arn, target_arn, execution_id, cause, state, first_at, ended_at, left_out,
  left_out_until
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (delivery_id) DO NOTHING;

-- name: begin_once -- does nothing if the delivery has a run; the run says all of its only attempt, which succeeded
INSERT INTO runs (
  delivery_id, scope, kind, source_arn, target_arn, execution_id, cause, state, first_at, ended_at, is_once, led_to,
  log_stream
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, ?, ?)
ON CONFLICT (delivery_id) DO NOTHING;

-- name: go_on -- hot
UPDATE runs SET state = ?, ended_at = ? WHERE delivery_id = ? RETURNING run;

-- name: record
INSERT INTO attempts (run, attempt, ended_at, state, code, message, next_at, letter_arn, led_to, why, log_stream)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: record_retry -- hot
INSERT INTO attempts (run, attempt, ended_at, state, code, message, next_at, log_stream)
SELECT run, ?, ?, 'retrying', ?, ?, ?, ?
FROM runs WHERE delivery_id = ? AND state = 'retrying';

-- name: note
INSERT INTO notes (run, at, kind, arn, led_to, code, message)
SELECT run, :at, :kind, :arn, :led_to, :code, :message FROM runs WHERE delivery_id = :delivery_id;

-- name: notes_of
SELECT at, notes.kind, arn, notes.led_to, code, message FROM notes JOIN runs USING (run) WHERE delivery_id = :delivery_id
ORDER BY notes.rowid;

-- name: run
SELECT delivery_id, scope, kind, source_arn, target_arn, execution_id, cause, state, first_at, ended_at, left_out,
  left_out_until, run
FROM runs WHERE delivery_id = :delivery_id;

-- name: of_delivery
SELECT delivery_id, source_arn, attempt, ended_at, state, code, message, next_at, letter_arn, led_to, why, log_stream,
  left_out, left_out_until
FROM (
  SELECT delivery_id, source_arn, attempt, attempts.ended_at, attempts.state, code, message, next_at,
    coalesce(letter_arn, '') AS letter_arn, coalesce(attempts.led_to, '') AS led_to, coalesce(why, '') AS why,
    coalesce(attempts.log_stream, '') AS log_stream, left_out, left_out_until, attempts.rowid AS nth
  FROM runs JOIN attempts USING (run) WHERE delivery_id = :delivery_id
  UNION ALL
  SELECT delivery_id, source_arn, 1, ended_at, state, '', '', NULL, '', coalesce(led_to, ''), '',
    coalesce(log_stream, ''), left_out, left_out_until, 0
  FROM runs WHERE delivery_id = :delivery_id AND is_once = 1
) AS made ORDER BY attempt, nth;

-- name: of_source
SELECT delivery_id, source_arn, attempt, ended_at, state, code, message, next_at, letter_arn, led_to, why, log_stream,
  left_out, left_out_until
FROM (
  SELECT delivery_id, source_arn, attempt, attempts.ended_at, attempts.state, code, message, next_at,
    coalesce(letter_arn, '') AS letter_arn, coalesce(attempts.led_to, '') AS led_to, coalesce(why, '') AS why,
    coalesce(attempts.log_stream, '') AS log_stream, left_out, left_out_until, attempts.rowid AS nth
  FROM runs JOIN attempts USING (run) WHERE source_arn = :source_arn
  UNION ALL
  SELECT delivery_id, source_arn, 1, ended_at, state, '', '', NULL, '', coalesce(led_to, ''), '',
    coalesce(log_stream, ''), left_out, left_out_until, 0
  FROM runs WHERE source_arn = :source_arn AND is_once = 1
) AS made ORDER BY delivery_id, attempt, nth;

-- name: unattempted
SELECT delivery_id, scope, kind, source_arn, target_arn, execution_id, cause, runs.state, first_at, runs.ended_at,
  left_out, left_out_until, run, why
FROM runs JOIN attempts USING (run) WHERE source_arn = :source_arn AND runs.state = 'missed' ORDER BY first_at, run;

-- name: with_code -- for the simulator; reads the whole table
SELECT delivery_id, source_arn, attempt, attempts.ended_at, attempts.state, code, message, next_at,
  coalesce(letter_arn, ''), coalesce(attempts.led_to, ''), coalesce(why, ''), coalesce(attempts.log_stream, ''),
  left_out, left_out_until
FROM attempts JOIN runs USING (run) WHERE code = :code ORDER BY attempts.ended_at, delivery_id;

-- name: oldest -- hot
SELECT min(ended_at) FROM attempts;

-- name: oldest_once -- hot
SELECT min(ended_at) FROM runs WHERE is_once = 1;

-- name: sweep_once -- oldest first
DELETE FROM runs WHERE run IN (
    SELECT run FROM runs WHERE is_once = 1 AND ended_at < :before ORDER BY ended_at LIMIT :limit
  )
RETURNING run;

-- name: sweep -- oldest first
DELETE FROM attempts WHERE rowid IN (
    SELECT rowid FROM attempts WHERE ended_at < :before ORDER BY ended_at LIMIT :limit
  )
RETURNING run;

-- name: sweep_run -- only if it has no attempts any more
DELETE FROM runs WHERE run = :run AND NOT EXISTS (SELECT 1 FROM attempts WHERE attempts.run = :run);

-- name: sweep_notes
DELETE FROM notes WHERE run = :run;

-- name: sweep_links
DELETE FROM links WHERE run = :run;
