-- name: put
INSERT INTO archived_events (archive, minute, at, archived_at, size, event) VALUES (?, ?, ?, ?, ?, ?);

-- name: count
INSERT INTO archive_minutes (archive, minute, events, size) VALUES (?, ?, ?, ?)
ON CONFLICT (archive, minute) DO UPDATE
SET events = archive_minutes.events + excluded.events, size = archive_minutes.size + excluded.size;

-- name: page -- hot
SELECT seq, minute, at, event FROM archived_events
WHERE archive = :archive AND (minute, seq) > (:minute, :seq) AND minute <= :minute_last AND seq <= :seq_last
  AND at >= :start AND at <= :end
ORDER BY minute, seq LIMIT :limit;

-- name: last_seq -- hot
SELECT max(seq) FROM archived_events;

-- name: content -- hot
SELECT sum(events), sum(size) FROM archive_minutes WHERE archive = ?;

-- name: oldest -- hot
SELECT min(archived_at) FROM archived_events WHERE archive = ?;

-- name: expire
DELETE FROM archived_events WHERE seq IN (
    SELECT seq FROM archived_events WHERE archive = :archive AND archived_at < :before
    ORDER BY archived_at, seq LIMIT :limit
  )
RETURNING minute, size;

-- name: forget_minutes
DELETE FROM archive_minutes WHERE archive = :archive AND events = 0;

-- name: delete_minutes
DELETE FROM archive_minutes WHERE archive = :archive AND minute IN (
  SELECT minute FROM archive_minutes WHERE archive = :archive ORDER BY minute LIMIT :limit
);

-- name: delete_events
DELETE FROM archived_events WHERE seq IN (
  SELECT seq FROM archived_events WHERE archive = :archive ORDER BY minute, seq LIMIT :limit
);

-- name: drop_oldest
DELETE FROM archived_events WHERE seq IN (
    SELECT seq FROM archived_events WHERE archive = :archive ORDER BY minute, seq LIMIT :limit
  )
RETURNING minute, size;
