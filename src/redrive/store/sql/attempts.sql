-- name: record
INSERT INTO attempts (delivery_id, scope, source_arn, attempt, ended_at, code, message, verdict, next_at)
VALUES (:delivery_id, :scope, :source_arn, :attempt, :ended_at, :code, :message, :verdict, :next_at);

-- name: of_delivery
SELECT delivery_id, source_arn, attempt, ended_at, code, message, verdict, next_at
FROM attempts WHERE delivery_id = :delivery_id ORDER BY attempt;

-- name: of_source
SELECT delivery_id, source_arn, attempt, ended_at, code, message, verdict, next_at
FROM attempts WHERE source_arn = :source_arn ORDER BY delivery_id, attempt;

-- name: page_of_source -- the latest deliveries before one, each with all its attempts
SELECT delivery_id, source_arn, attempt, ended_at, code, message, verdict, next_at
FROM attempts WHERE source_arn = :source_arn AND delivery_id IN (
  SELECT DISTINCT delivery_id FROM attempts WHERE source_arn = :source_arn AND delivery_id < :before
  ORDER BY delivery_id DESC LIMIT :limit
) ORDER BY delivery_id DESC, attempt;

-- name: unattempted
SELECT delivery_id, source_arn, attempt, ended_at, code, message, verdict, next_at
FROM attempts WHERE source_arn = :source_arn AND attempt = 0 ORDER BY delivery_id;

-- name: delivery_ending
SELECT delivery_id FROM attempts WHERE ended_at >= :since AND delivery_id LIKE '%' || :ending
ORDER BY ended_at LIMIT 1;

-- name: with_code -- for the simulator, which reads the whole history once
SELECT delivery_id, source_arn, attempt, ended_at, code, message, verdict, next_at
FROM attempts WHERE code = :code ORDER BY ended_at, delivery_id;

-- name: sweep
DELETE FROM attempts WHERE ended_at < :before;
