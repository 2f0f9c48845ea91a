-- name: record
INSERT INTO attempts (delivery_id, scope, source_arn, attempt, ended_at, code, message, verdict, next_at)
VALUES (:delivery_id, :scope, :source_arn, :attempt, :ended_at, :code, :message, :verdict, :next_at);

-- name: of_delivery
SELECT delivery_id, source_arn, attempt, ended_at, code, message, verdict, next_at
FROM attempts WHERE delivery_id = :delivery_id ORDER BY attempt;

-- name: of_source
SELECT delivery_id, source_arn, attempt, ended_at, code, message, verdict, next_at
FROM attempts WHERE source_arn = :source_arn ORDER BY delivery_id, attempt;

-- name: sweep
DELETE FROM attempts WHERE ended_at < :before;
