-- name: content
-- Sums of integers are numeric.
SELECT sum(events)::bigint, sum(size)::bigint FROM archive_minutes WHERE archive = ?;

-- name: expire
-- Several nodes share the work: each one skips what another one has locked. An ARRAY is computed once.
DELETE FROM archived_events WHERE seq = ANY(ARRAY(
    SELECT seq FROM archived_events WHERE archive = :archive AND archived_at < :before
    ORDER BY archived_at, seq LIMIT :limit FOR UPDATE SKIP LOCKED
  ))
RETURNING minute, size;

-- name: delete_minutes
-- An ARRAY is computed once: a join with the subquery could compute it again for each row.
DELETE FROM archive_minutes WHERE archive = :archive AND minute = ANY(ARRAY(
  SELECT minute FROM archive_minutes WHERE archive = :archive ORDER BY minute LIMIT :limit
));

-- name: delete_events
-- An ARRAY is computed once: a join with the subquery could compute it again for each row.
DELETE FROM archived_events WHERE seq = ANY(ARRAY(
  SELECT seq FROM archived_events WHERE archive = :archive ORDER BY minute, seq LIMIT :limit
));

-- name: drop_oldest
-- An ARRAY is computed once: a join with the subquery could compute it again for each row.
DELETE FROM archived_events WHERE seq = ANY(ARRAY(
    SELECT seq FROM archived_events WHERE archive = :archive ORDER BY minute, seq LIMIT :limit
  ))
RETURNING minute, size;
