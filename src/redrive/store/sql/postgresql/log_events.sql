-- name: expire
-- Several nodes share the work: each one skips what another one has locked. An ARRAY is computed once.
DELETE FROM log_events WHERE seq = ANY(ARRAY(
    SELECT seq FROM log_events WHERE log_group = :log_group AND at < :before ORDER BY at, seq LIMIT :limit
    FOR UPDATE SKIP LOCKED
  ))
RETURNING stream, message;

-- name: arrived
-- Written without an equation, since the planner would walk over the events of all groups in the order of seq.
SELECT seq, stream, at, ingested_at, message FROM log_events
WHERE (log_group, seq) > (:log_group, :seq) AND log_group <= :log_group ORDER BY log_group, seq LIMIT :limit;

-- name: delete_group
-- An ARRAY is computed once: a join with the subquery could compute it again for each row.
DELETE FROM log_events WHERE seq = ANY(ARRAY(
  SELECT seq FROM log_events WHERE log_group = :log_group ORDER BY at, seq LIMIT :limit
));
