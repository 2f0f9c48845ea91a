-- name: put
INSERT INTO alarm_history (scope, alarm, at, id, alarm_type, type, summary, data)
VALUES (:scope, :alarm, :at, :id, :alarm_type, :type, :summary, :data)
ON CONFLICT (scope, at, id) DO NOTHING;

-- name: count -- hot
SELECT count(*) FROM alarm_history WHERE scope = :scope AND at = :at;

-- name: of_scope
SELECT alarm, at, id, alarm_type, type, summary, data FROM alarm_history
WHERE scope = :scope AND at >= :start AND at < :end ORDER BY at, id LIMIT :limit;

-- name: of_alarm
SELECT alarm, at, id, alarm_type, type, summary, data FROM alarm_history
WHERE scope = :scope AND alarm = :alarm AND at >= :start AND at < :end ORDER BY at, id LIMIT :limit;

-- name: sweep -- oldest first
DELETE FROM alarm_history WHERE (scope, at, id) IN (
  SELECT scope, at, id FROM alarm_history WHERE at < :before ORDER BY at LIMIT :limit
);

-- name: oldest -- hot
SELECT min(at) FROM alarm_history;
