-- `dimensions` is compared twice: by the digest, which stands in the unique index, and itself.

-- name: put
-- The unique index has the dimensions' digest, because thirty dimensions do not fit into an index.
INSERT INTO metrics (scope, namespace, name, dimensions, unit, minute, sum, count, min, max, samples)
VALUES (:scope, :namespace, :name, :dimensions, :unit, :minute, :sum, :count, :min, :max, :samples)
ON CONFLICT (scope, namespace, name, sha256(replace(dimensions, '\', '\\')::bytea), unit, minute) DO NOTHING;

-- name: add
-- The unique index has the dimensions' digest.
UPDATE metrics SET sum = sum + :sum, count = count + :count, samples = :samples,
  min = CASE WHEN min < :min THEN min ELSE :min END, max = CASE WHEN max > :max THEN max ELSE :max END
WHERE scope = :scope AND namespace = :namespace AND name = :name AND dimensions = :dimensions
  AND sha256(replace(dimensions, '\', '\\')::bytea) = sha256(replace(:dimensions, '\', '\\')::bytea)
  AND unit = :unit AND minute = :minute;

-- name: samples
-- The caller adds to the samples that it reads: no other node may add to them in between. The index has the dimensions' digest.
SELECT samples FROM metrics
WHERE scope = :scope AND namespace = :namespace AND name = :name AND dimensions = :dimensions
  AND sha256(replace(dimensions, '\', '\\')::bytea) = sha256(replace(:dimensions, '\', '\\')::bytea)
  AND unit = :unit AND minute = :minute
FOR UPDATE;

-- name: between
-- The unique index has the dimensions' digest.
SELECT minute, sum, count, min, max, samples FROM metrics
WHERE scope = :scope AND namespace = :namespace AND name = :name AND dimensions = :dimensions
  AND sha256(replace(dimensions, '\', '\\')::bytea) = sha256(replace(:dimensions, '\', '\\')::bytea)
  AND unit = :unit AND minute >= :start AND minute < :end ORDER BY minute;

-- name: grouped
-- The unique index has the dimensions' digest.
SELECT minute - (minute - CAST(:start AS bigint)) % CAST(:period AS bigint) AS begins_at, sum(sum), sum(count), min(min),
  max(max)
FROM metrics
WHERE scope = :scope AND namespace = :namespace AND name = :name AND dimensions = :dimensions
  AND sha256(replace(dimensions, '\', '\\')::bytea) = sha256(replace(:dimensions, '\', '\\')::bytea)
  AND unit = :unit AND minute >= :start AND minute < :end GROUP BY begins_at ORDER BY begins_at;

-- name: by_period_sample_count
-- The unique index has the dimensions' digest.
SELECT minute - (minute - CAST(:start AS bigint)) % CAST(:period AS bigint) AS begins_at, sum(count) FROM metrics
WHERE scope = :scope AND namespace = :namespace AND name = :name AND dimensions = :dimensions
  AND sha256(replace(dimensions, '\', '\\')::bytea) = sha256(replace(:dimensions, '\', '\\')::bytea)
  AND unit = :unit AND minute >= :start AND minute < :end GROUP BY begins_at ORDER BY begins_at;

-- name: by_period_average
-- The unique index has the dimensions' digest.
SELECT minute - (minute - CAST(:start AS bigint)) % CAST(:period AS bigint) AS begins_at, sum(sum) / sum(count) FROM metrics
WHERE scope = :scope AND namespace = :namespace AND name = :name AND dimensions = :dimensions
  AND sha256(replace(dimensions, '\', '\\')::bytea) = sha256(replace(:dimensions, '\', '\\')::bytea)
  AND unit = :unit AND minute >= :start AND minute < :end GROUP BY begins_at ORDER BY begins_at;

-- name: by_period_sum
-- The unique index has the dimensions' digest.
SELECT minute - (minute - CAST(:start AS bigint)) % CAST(:period AS bigint) AS begins_at, sum(sum) FROM metrics
WHERE scope = :scope AND namespace = :namespace AND name = :name AND dimensions = :dimensions
  AND sha256(replace(dimensions, '\', '\\')::bytea) = sha256(replace(:dimensions, '\', '\\')::bytea)
  AND unit = :unit AND minute >= :start AND minute < :end GROUP BY begins_at ORDER BY begins_at;

-- name: by_period_minimum
-- The unique index has the dimensions' digest.
SELECT minute - (minute - CAST(:start AS bigint)) % CAST(:period AS bigint) AS begins_at, min(min) FROM metrics
WHERE scope = :scope AND namespace = :namespace AND name = :name AND dimensions = :dimensions
  AND sha256(replace(dimensions, '\', '\\')::bytea) = sha256(replace(:dimensions, '\', '\\')::bytea)
  AND unit = :unit AND minute >= :start AND minute < :end GROUP BY begins_at ORDER BY begins_at;

-- name: by_period_maximum
-- The unique index has the dimensions' digest.
SELECT minute - (minute - CAST(:start AS bigint)) % CAST(:period AS bigint) AS begins_at, max(max) FROM metrics
WHERE scope = :scope AND namespace = :namespace AND name = :name AND dimensions = :dimensions
  AND sha256(replace(dimensions, '\', '\\')::bytea) = sha256(replace(:dimensions, '\', '\\')::bytea)
  AND unit = :unit AND minute >= :start AND minute < :end GROUP BY begins_at ORDER BY begins_at;

-- name: first
-- The unique index has the dimensions' digest.
SELECT min(minute) FROM metrics
WHERE scope = :scope AND namespace = :namespace AND name = :name AND dimensions = :dimensions
  AND sha256(replace(dimensions, '\', '\\')::bytea) = sha256(replace(:dimensions, '\', '\\')::bytea)
  AND unit = :unit AND minute >= :start;

-- name: units
-- The unique index has the dimensions' digest.
WITH RECURSIVE found(unit) AS (
  SELECT min(unit) FROM metrics
  WHERE scope = :scope AND namespace = :namespace AND name = :name AND dimensions = :dimensions
    AND sha256(replace(dimensions, '\', '\\')::bytea) = sha256(replace(:dimensions, '\', '\\')::bytea)
  UNION ALL
  SELECT (
    SELECT min(unit) FROM metrics WHERE scope = :scope AND namespace = :namespace AND name = :name
      AND dimensions = :dimensions
      AND sha256(replace(dimensions, '\', '\\')::bytea) = sha256(replace(:dimensions, '\', '\\')::bytea)
      AND unit > found.unit
  ) FROM found WHERE found.unit IS NOT NULL
) SELECT unit FROM found WHERE unit IS NOT NULL ORDER BY unit;

-- name: sweep
-- Several nodes share the work. Rows are named by their place (ctid), which is computed once and needs no index.
DELETE FROM metrics WHERE ctid = ANY(ARRAY(
  SELECT ctid FROM metrics WHERE minute < :before ORDER BY minute LIMIT :limit FOR UPDATE SKIP LOCKED
)) AND +minute < :before;

-- name: delete
-- The unique index has the dimensions' digest.
DELETE FROM metrics
WHERE scope = :scope AND namespace = :namespace AND name = :name AND dimensions = :dimensions
  AND sha256(replace(dimensions, '\', '\\')::bytea) = sha256(replace(:dimensions, '\', '\\')::bytea)
  AND unit = :unit AND minute = :minute;
