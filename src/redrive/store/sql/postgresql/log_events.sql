-- name: expire
-- Several nodes share the work: each one skips what another one has locked. An ARRAY is computed once.
DELETE FROM log_events WHERE seq = ANY(ARRAY(
    SELECT seq FROM log_events WHERE log_group = :log_group AND at < :before ORDER BY at, seq LIMIT :limit
    FOR UPDATE SKIP LOCKED
  ))
RETURNING stream, message;

-- name: delete_group
-- An ARRAY is computed once: a join with the subquery could compute it again for each row.
DELETE FROM log_events WHERE seq = ANY(ARRAY(
  SELECT seq FROM log_events WHERE log_group = :log_group ORDER BY at, seq LIMIT :limit
));
