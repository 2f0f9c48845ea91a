-- name: page_of_source
SELECT delivery_id, scope, kind, source_arn, target_arn, execution_id, cause, state, first_at, ended_at, left_out,
  left_out_until, run
FROM runs WHERE source_arn = :source_arn AND (first_at, run) < (:before_at, :before_run) AND first_at >= :since
  AND (:scope = '' OR scope = :scope) AND (:state = '' OR state = :state)
  AND (:target_arn = '' OR target_arn = :target_arn) AND (:execution_id = '' OR execution_id = :execution_id)
ORDER BY first_at DESC, run DESC LIMIT :limit;

-- name: page_of_state -- the index does not contain delivered runs
SELECT delivery_id, scope, kind, source_arn, target_arn, execution_id, cause, state, first_at, ended_at, left_out,
  left_out_until, run
FROM runs INDEXED BY runs_by_state
WHERE scope = :scope AND state = :state AND state <> 'delivered' AND (first_at, run) < (:before_at, :before_run)
  AND first_at >= :since
  AND (:target_arn = '' OR target_arn = :target_arn)
ORDER BY first_at DESC, run DESC LIMIT :limit;

-- name: page_of_scope
SELECT delivery_id, scope, kind, source_arn, target_arn, execution_id, cause, state, first_at, ended_at, left_out,
  left_out_until, run
FROM runs WHERE scope = :scope AND (first_at, run) < (:before_at, :before_run) AND first_at >= :since
  AND (:state = '' OR state = :state) AND (:target_arn = '' OR target_arn = :target_arn)
ORDER BY first_at DESC, run DESC LIMIT :limit;

-- name: page_of_execution -- the execution's own runs, the batches with its messages, and those of its redrives
WITH redriven AS (
  SELECT :execution_id AS id
  UNION SELECT moved_as FROM moves WHERE execution_id = :execution_id AND kind LIKE 'redrive by %'
)
SELECT delivery_id, scope, kind, source_arn, target_arn, execution_id, cause, state, first_at, ended_at, left_out,
  left_out_until, run
FROM runs WHERE run IN (
    SELECT run FROM runs WHERE execution_id IN (SELECT id FROM redriven)
    UNION SELECT run FROM links WHERE execution_id IN (SELECT id FROM redriven)
  ) AND (first_at, run) < (:before_at, :before_run) AND first_at >= :since AND (:scope = '' OR scope = :scope)
  AND (:source_arn = '' OR source_arn = :source_arn) AND (:state = '' OR state = :state)
  AND (:target_arn = '' OR target_arn = :target_arn)
ORDER BY first_at DESC, run DESC LIMIT :limit;

-- name: execution_of -- by a delivery's id (for functions: a request id), a message's id, or its own id
-- What a dead letter was sent again as belongs to the execution of the letter.
SELECT execution_id FROM (
  SELECT 0 AS rank, execution_id FROM moves WHERE moved_as = :id AND kind LIKE 'redrive by %'
  UNION ALL SELECT 1, execution_id FROM runs WHERE delivery_id = :id
  UNION ALL SELECT 2, execution_id FROM runs WHERE execution_id = :id
  UNION ALL SELECT 3, execution_id FROM links WHERE execution_id = :id
  UNION ALL SELECT 4, execution_id FROM moves WHERE execution_id = :id
  UNION ALL SELECT 5, execution_id FROM links WHERE message_id = :id
  UNION ALL SELECT 6, execution_id FROM moves WHERE moved_as = :id
  UNION ALL SELECT 7, execution_id FROM runs JOIN attempts USING (run) WHERE attempts.led_to = :id
  UNION ALL SELECT 7, execution_id FROM runs WHERE led_to = :id
) AS found ORDER BY rank LIMIT 1;

-- name: timeline
-- All events of one execution, in order: began, each attempt, each batch, destinations, moves. In virtual time many
-- events have the same instant: moves come first, then the runs in the order in which they were recorded.
-- A dead letter that was sent again began an execution of its own: that goes on here.
WITH redriven AS (
  SELECT :execution_id AS id
  UNION SELECT moved_as FROM moves WHERE execution_id = :execution_id AND kind LIKE 'redrive by %'
), own AS (
  SELECT * FROM runs WHERE run IN (
    SELECT run FROM runs WHERE execution_id IN (SELECT id FROM redriven)
    UNION SELECT run FROM links WHERE execution_id IN (SELECT id FROM redriven)
  )
)
SELECT at, event, kind, delivery_id, source_arn, target_arn, attempt, state, code, message, next_at, arn, led_to, why,
  log_stream, receive_count, cause
FROM (
  SELECT first_at AS at, run, 1 AS rank, run AS nth, 'began' AS event, kind, delivery_id, source_arn, target_arn,
    0 AS attempt, state, '' AS code, '' AS message, CAST(NULL AS bigint) AS next_at, '' AS arn, '' AS led_to, '' AS why,
    '' AS log_stream, 0 AS receive_count, cause
  FROM own WHERE state <> 'missed'
  UNION ALL
  SELECT own.first_at, run, 2, links.rowid, 'received', kind, delivery_id, source_arn, target_arn, 0,
    CASE WHEN is_done = 1 THEN 'delivered' ELSE 'returned' END, '', '', NULL, '',
    message_id, '', '', receive_count, cause
  FROM own JOIN links USING (run)
  WHERE links.execution_id IN (SELECT id FROM redriven) OR own.execution_id IN (SELECT id FROM redriven)
  UNION ALL
  SELECT attempts.ended_at, run, 3, attempts.rowid, 'attempted', kind, delivery_id, source_arn, target_arn, attempt,
    attempts.state, code, message, next_at, coalesce(letter_arn, ''), coalesce(attempts.led_to, ''), coalesce(why, ''),
    coalesce(attempts.log_stream, ''), 0, cause
  FROM own JOIN attempts USING (run)
  UNION ALL
  SELECT ended_at, run, 3, 0, 'attempted', kind, delivery_id, source_arn, target_arn, 1, state, '', '', NULL, '',
    coalesce(led_to, ''), '', coalesce(log_stream, ''), 0, cause
  FROM own WHERE is_once = 1
  UNION ALL
  SELECT notes.at, run, 4, notes.rowid, 'told', own.kind, delivery_id, source_arn, target_arn, 0, state, code, message, NULL,
    arn, notes.led_to, notes.kind, '', 0, cause
  FROM own JOIN notes USING (run)
  UNION ALL
  SELECT at, 0, 5, moves.rowid, 'moved', kind, '', from_arn, to_arn, 0, '', '', '', NULL, '', moved_as, message_id, '',
    receive_count, ''
  FROM moves WHERE execution_id IN (SELECT id FROM redriven)
) AS events ORDER BY at, run, rank, nth;

-- name: link
INSERT INTO links (run, execution_id, message_id, receive_count, is_done) VALUES (?, ?, ?, ?, ?);

-- name: move
INSERT INTO moves (at, execution_id, kind, from_arn, to_arn, message_id, moved_as, receive_count)
VALUES (?, ?, ?, ?, ?, ?, ?, ?);

-- name: is_redriven
SELECT 1 FROM moves WHERE moved_as = :sent_as AND message_id = :message_id AND kind LIKE 'redrive by %';

-- name: sweep_moves
DELETE FROM moves WHERE rowid IN (SELECT rowid FROM moves WHERE at < :before ORDER BY at LIMIT :limit);

-- name: oldest_move -- hot
SELECT min(at) FROM moves;
