-- name: put -- hot
INSERT INTO executions (arn, id, owner, status, started_at, stopped_at, events, document, position)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (arn) DO NOTHING;

-- name: get -- hot
SELECT arn, id, owner, status, started_at, stopped_at, events, document, position FROM executions WHERE arn = ?;

-- name: save -- hot
UPDATE executions SET status = ?, stopped_at = ?, events = ?, position = ? WHERE arn = ?;

-- name: delete -- hot
DELETE FROM executions WHERE arn = ?;

-- name: page
SELECT arn, id, owner, status, started_at, stopped_at, events, document, position FROM executions
WHERE owner = :owner AND (started_at, arn) < (:before, :arn) ORDER BY started_at DESC, arn DESC LIMIT :limit;

-- name: page_of_status
SELECT arn, id, owner, status, started_at, stopped_at, events, document, position FROM executions
WHERE owner = :owner AND status = :status AND (started_at, arn) < (:before, :arn)
ORDER BY started_at DESC, arn DESC LIMIT :limit;

-- name: count_of_status
SELECT count(*) FROM executions WHERE owner = ? AND status = ?;

-- name: any_of_owner
SELECT 1 FROM executions WHERE owner = ? LIMIT 1;

-- name: oldest_stopped
SELECT min(stopped_at) FROM executions WHERE stopped_at IS NOT NULL;

-- name: stopped_before
SELECT arn, id, owner, document FROM executions WHERE stopped_at IS NOT NULL AND stopped_at < ? ORDER BY stopped_at LIMIT ?;

-- name: append -- hot
INSERT INTO execution_events (execution, seq, events) VALUES (?, ?, ?);

-- name: pieces -- hot
SELECT events FROM execution_events
WHERE execution = :execution AND seq <= :last AND seq >= coalesce(
  (SELECT max(f.seq) FROM execution_events AS f WHERE f.execution = :execution AND f.seq <= :first), :first
) ORDER BY seq;

-- name: pieces_back -- hot
SELECT events FROM execution_events
WHERE execution = :execution AND seq <= :last AND seq >= coalesce(
  (SELECT max(f.seq) FROM execution_events AS f WHERE f.execution = :execution AND f.seq <= :first), :first
) ORDER BY seq DESC;

-- name: forget_events
DELETE FROM execution_events WHERE execution = ?;

-- name: offer -- hot
INSERT INTO activity_tasks (activity, id, document) VALUES (?, ?, ?);

-- name: next_task -- hot
SELECT id, document FROM activity_tasks WHERE activity = ? ORDER BY id LIMIT 1;

-- name: take_task -- hot
DELETE FROM activity_tasks WHERE activity = ? AND id = ?;

-- name: drop_tasks
DELETE FROM activity_tasks WHERE activity = ?;
