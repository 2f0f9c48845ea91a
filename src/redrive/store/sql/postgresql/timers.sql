-- name: due
-- The timers stay locked until they are set or cleared, so that no two nodes fire one.
SELECT name, at FROM timers WHERE kind = :kind AND at <= :now ORDER BY at, name LIMIT :limit FOR UPDATE SKIP LOCKED;
