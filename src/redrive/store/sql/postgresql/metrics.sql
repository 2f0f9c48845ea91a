-- name: samples
-- The caller adds to the samples that it reads: no other node may add to them in between.
SELECT samples FROM metrics
WHERE scope = :scope AND namespace = :namespace AND name = :name AND dimensions = :dimensions AND unit = :unit
  AND minute = :minute
FOR UPDATE;

-- name: sweep
-- Several nodes share the work. Rows are named by their place (ctid), which is computed once and needs no index.
DELETE FROM metrics WHERE ctid = ANY(ARRAY(
  SELECT ctid FROM metrics WHERE minute < :before ORDER BY minute LIMIT :limit FOR UPDATE SKIP LOCKED
)) AND +minute < :before;
