-- name: add
INSERT INTO metrics (scope, namespace, name, dimensions, minute, sum, count, min, max, unit)
VALUES (:scope, :namespace, :name, :dimensions, :minute, :sum, :count, :min, :max, :unit)
ON CONFLICT (scope, namespace, name, dimensions, minute) DO UPDATE SET sum = metrics.sum + excluded.sum,
  count = metrics.count + excluded.count, min = min(metrics.min, excluded.min), max = max(metrics.max, excluded.max);

-- name: between -- hot
SELECT minute, sum, count, min, max FROM metrics
WHERE scope = :scope AND namespace = :namespace AND name = :name AND dimensions = :dimensions
  AND minute >= :start AND minute < :end ORDER BY minute;

-- name: names
SELECT DISTINCT namespace, name, dimensions, unit FROM metrics WHERE scope = :scope ORDER BY namespace, name, dimensions;

-- name: sweep
DELETE FROM metrics WHERE minute < :before;
