-- name: put -- unless the minute exists
INSERT INTO metrics (scope, namespace, name, dimensions, unit, minute, sum, count, min, max, samples)
VALUES (:scope, :namespace, :name, :dimensions, :unit, :minute, :sum, :count, :min, :max, :samples)
ON CONFLICT (scope, namespace, name, dimensions, unit, minute) DO NOTHING;

-- name: add
UPDATE metrics SET sum = sum + :sum, count = count + :count, samples = :samples,
  min = CASE WHEN min < :min THEN min ELSE :min END, max = CASE WHEN max > :max THEN max ELSE :max END
WHERE scope = :scope AND namespace = :namespace AND name = :name AND dimensions = :dimensions AND unit = :unit
  AND minute = :minute;

-- name: samples -- hot
SELECT samples FROM metrics
WHERE scope = :scope AND namespace = :namespace AND name = :name AND dimensions = :dimensions AND unit = :unit
  AND minute = :minute;

-- name: between -- hot
SELECT minute, sum, count, min, max, samples FROM metrics
WHERE scope = :scope AND namespace = :namespace AND name = :name AND dimensions = :dimensions AND unit = :unit
  AND minute >= :start AND minute < :end ORDER BY minute;

-- name: grouped -- hot
SELECT minute - (minute - :start) % :period AS begins_at, sum(sum), sum(count), min(min), max(max) FROM metrics
WHERE scope = :scope AND namespace = :namespace AND name = :name AND dimensions = :dimensions AND unit = :unit
  AND minute >= :start AND minute < :end GROUP BY begins_at ORDER BY begins_at;

-- name: by_period_sample_count -- hot; a statement for each statistic, since each further column costs a quarter
SELECT minute - (minute - :start) % :period AS begins_at, sum(count) FROM metrics
WHERE scope = :scope AND namespace = :namespace AND name = :name AND dimensions = :dimensions AND unit = :unit
  AND minute >= :start AND minute < :end GROUP BY begins_at ORDER BY begins_at;

-- name: by_period_average -- hot
SELECT minute - (minute - :start) % :period AS begins_at, sum(sum) / sum(count) FROM metrics
WHERE scope = :scope AND namespace = :namespace AND name = :name AND dimensions = :dimensions AND unit = :unit
  AND minute >= :start AND minute < :end GROUP BY begins_at ORDER BY begins_at;

-- name: by_period_sum -- hot
SELECT minute - (minute - :start) % :period AS begins_at, sum(sum) FROM metrics
WHERE scope = :scope AND namespace = :namespace AND name = :name AND dimensions = :dimensions AND unit = :unit
  AND minute >= :start AND minute < :end GROUP BY begins_at ORDER BY begins_at;

-- name: by_period_minimum -- hot
SELECT minute - (minute - :start) % :period AS begins_at, min(min) FROM metrics
WHERE scope = :scope AND namespace = :namespace AND name = :name AND dimensions = :dimensions AND unit = :unit
  AND minute >= :start AND minute < :end GROUP BY begins_at ORDER BY begins_at;

-- name: by_period_maximum -- hot
SELECT minute - (minute - :start) % :period AS begins_at, max(max) FROM metrics
WHERE scope = :scope AND namespace = :namespace AND name = :name AND dimensions = :dimensions AND unit = :unit
  AND minute >= :start AND minute < :end GROUP BY begins_at ORDER BY begins_at;

-- name: first -- hot
SELECT min(minute) FROM metrics
WHERE scope = :scope AND namespace = :namespace AND name = :name AND dimensions = :dimensions AND unit = :unit
  AND minute >= :start;

-- name: units -- hot; from one unit to the next, because a metric may have very many minutes
WITH RECURSIVE found(unit) AS (
  SELECT min(unit) FROM metrics
  WHERE scope = :scope AND namespace = :namespace AND name = :name AND dimensions = :dimensions
  UNION ALL
  SELECT (
    SELECT min(unit) FROM metrics WHERE scope = :scope AND namespace = :namespace AND name = :name
      AND dimensions = :dimensions AND unit > found.unit
  ) FROM found WHERE found.unit IS NOT NULL
) SELECT unit FROM found WHERE unit IS NOT NULL ORDER BY unit;

-- name: names
SELECT DISTINCT namespace, name, dimensions, unit FROM metrics WHERE scope = :scope AND minute >= :since
ORDER BY namespace, name, dimensions, unit;

-- name: sweep -- oldest first
DELETE FROM metrics WHERE (scope, namespace, name, dimensions, unit, minute) IN (
  SELECT scope, namespace, name, dimensions, unit, minute FROM metrics WHERE minute < :before
  ORDER BY minute LIMIT :limit
);

-- name: finer -- those that do not begin with a longer period
SELECT scope, namespace, name, dimensions, unit, minute, sum, count, min, max, samples FROM metrics
WHERE minute >= :since AND minute < :before AND minute % :period <> 0 ORDER BY minute LIMIT :limit;

-- name: oldest_finer
SELECT minute FROM metrics WHERE minute >= :since AND minute % :period <> 0 ORDER BY minute LIMIT 1;

-- name: delete
DELETE FROM metrics
WHERE scope = :scope AND namespace = :namespace AND name = :name AND dimensions = :dimensions AND unit = :unit
  AND minute = :minute;

-- name: oldest -- hot
SELECT min(minute) FROM metrics;
