-- name: add
INSERT INTO metrics (scope, namespace, name, dimensions, unit, minute, sum, count, min, max, samples)
VALUES (:scope, :namespace, :name, :dimensions, :unit, :minute, :sum, :count, :min, :max, :samples)
ON CONFLICT (scope, namespace, name, dimensions, unit, minute) DO UPDATE SET sum = metrics.sum + excluded.sum,
  count = metrics.count + excluded.count, min = min(metrics.min, excluded.min), max = max(metrics.max, excluded.max),
  samples = excluded.samples;

-- name: samples -- hot
SELECT samples FROM metrics
WHERE scope = :scope AND namespace = :namespace AND name = :name AND dimensions = :dimensions AND unit = :unit
  AND minute = :minute;

-- name: between -- hot
SELECT minute, sum, count, min, max, samples FROM metrics
WHERE scope = :scope AND namespace = :namespace AND name = :name AND dimensions = :dimensions AND unit = :unit
  AND minute >= :start AND minute < :end ORDER BY minute;

-- name: units -- hot
SELECT DISTINCT unit FROM metrics
WHERE scope = :scope AND namespace = :namespace AND name = :name AND dimensions = :dimensions ORDER BY unit;

-- name: names
SELECT DISTINCT namespace, name, dimensions, unit FROM metrics WHERE scope = :scope AND minute >= :since
ORDER BY namespace, name, dimensions, unit;

-- name: sweep
DELETE FROM metrics WHERE minute < :before;
