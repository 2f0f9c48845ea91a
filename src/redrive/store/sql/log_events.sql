-- name: put
INSERT INTO log_events (log_group, stream, at, ingested_at, message)
VALUES (?, ?, ?, ?, ?);

-- name: put_transformed
INSERT INTO log_events (log_group, stream, at, ingested_at, message, transformed)
VALUES (?, ?, ?, ?, ?, ?);

-- name: stream_after -- hot
SELECT seq, stream, at, ingested_at, message FROM log_events
WHERE log_group = :log_group AND stream = :stream AND (at, seq) > (:at, :seq) AND at < :end
ORDER BY at, seq LIMIT :limit;

-- name: stream_until -- hot
SELECT seq, stream, at, ingested_at, message FROM log_events
WHERE log_group = :log_group AND stream = :stream AND (at, seq) <= (:at, :seq) AND at >= :start
ORDER BY at DESC, seq DESC LIMIT :limit;

-- name: group_after -- hot
SELECT seq, stream, at, ingested_at, message FROM log_events
WHERE log_group = :log_group AND (at, seq) > (:at, :seq) AND at < :end
ORDER BY at, seq LIMIT :limit;

-- name: group_until -- hot
SELECT seq, stream, at, ingested_at, message, transformed FROM log_events
WHERE log_group = :log_group AND (at, seq) <= (:at, :seq) AND at >= :start
ORDER BY at DESC, seq DESC LIMIT :limit;

-- name: arrived -- hot
SELECT seq, stream, at, ingested_at, message FROM log_events
WHERE log_group = :log_group AND seq > :seq ORDER BY seq LIMIT :limit;

-- name: last
SELECT max(seq) FROM log_events;

-- name: first_at
SELECT min(at) FROM log_events WHERE log_group = :log_group AND stream = :stream;

-- name: expire
DELETE FROM log_events WHERE seq IN (
    SELECT seq FROM log_events WHERE log_group = :log_group AND at < :before ORDER BY at, seq LIMIT :limit
  )
RETURNING stream, message;

-- name: delete_stream
DELETE FROM log_events WHERE log_group = :log_group AND stream = :stream;

-- name: delete_group
DELETE FROM log_events WHERE seq IN (
  SELECT seq FROM log_events WHERE log_group = :log_group ORDER BY at, seq LIMIT :limit
);

-- name: oldest -- hot
SELECT min(at) FROM log_events WHERE log_group = ?;
