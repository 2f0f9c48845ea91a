-- name: begin_run -- the same run, if there is one
INSERT INTO runs (delivery_id, source_arn) VALUES (:delivery_id, :source_arn)
ON CONFLICT (delivery_id) DO UPDATE SET source_arn = excluded.source_arn
RETURNING run;

-- name: record_first
INSERT INTO attempts (run, attempt, ended_at, code, message, verdict, next_at)
VALUES (:run, :attempt, :ended_at, :code, :message, :verdict, :next_at);

-- name: record -- hot
INSERT INTO attempts (run, attempt, ended_at, code, message, verdict, next_at)
SELECT run, :attempt, :ended_at, :code, :message, :verdict, :next_at FROM runs WHERE delivery_id = :delivery_id;

-- name: of_delivery
SELECT delivery_id, source_arn, attempt, ended_at, code, message, verdict, next_at
FROM runs JOIN attempts USING (run) WHERE delivery_id = :delivery_id ORDER BY attempt, attempts.rowid;

-- name: of_source
SELECT delivery_id, source_arn, attempt, ended_at, code, message, verdict, next_at
FROM runs JOIN attempts USING (run) WHERE source_arn = :source_arn ORDER BY delivery_id, attempt, attempts.rowid;

-- name: page_of_source -- the latest deliveries before one, each with all its attempts
SELECT delivery_id, source_arn, attempt, ended_at, code, message, verdict, next_at
FROM (
  SELECT run, delivery_id, source_arn FROM runs WHERE source_arn = :source_arn AND delivery_id < :before
  ORDER BY delivery_id DESC LIMIT :limit
) JOIN attempts USING (run) ORDER BY delivery_id DESC, attempt, attempts.rowid;

-- name: unattempted
SELECT delivery_id, source_arn, attempt, ended_at, code, message, verdict, next_at
FROM runs JOIN attempts USING (run) WHERE source_arn = :source_arn AND attempt = 0 ORDER BY delivery_id;

-- name: delivery_ending
SELECT delivery_id FROM attempts JOIN runs USING (run) WHERE ended_at >= :since AND delivery_id LIKE '%' || :ending
ORDER BY ended_at LIMIT 1;

-- name: with_code -- for the simulator, which reads the whole history once
SELECT delivery_id, source_arn, attempt, ended_at, code, message, verdict, next_at
FROM attempts JOIN runs USING (run) WHERE code = :code ORDER BY ended_at, delivery_id;

-- name: sweep -- the oldest first
DELETE FROM attempts WHERE rowid IN (
    SELECT rowid FROM attempts WHERE ended_at < :before ORDER BY ended_at LIMIT :limit
  )
RETURNING run;

-- name: sweep_run -- once the last of its attempts has gone
DELETE FROM runs WHERE run = :run AND NOT EXISTS (SELECT 1 FROM attempts WHERE attempts.run = :run);
