-- name: put
INSERT INTO deliveries (id, scope, source, source_arn, target_arn, document, policy, place, due_at, first_at, function)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO NOTHING;

-- name: due -- hot
-- A bound place is used in an expression, `place = :place || ''`. Without it, SQLite compares the bound value with the
-- condition of the partial index `deliveries_outside`, and prepares the statement again for each run, which is slow.
SELECT id, scope, source, source_arn, target_arn, document, policy, place, due_at, first_at, attempts + 1, failures, fence, leases
FROM deliveries WHERE place = :place || '' AND due_at <= :now ORDER BY due_at, id LIMIT :limit;

-- name: claim_due -- hot
UPDATE deliveries SET due_at = :lease_until, fence = fence + 1, leases = leases + 1, attempts = attempts + 1
WHERE id IN (SELECT id FROM deliveries WHERE place = :place || '' AND due_at <= :now ORDER BY due_at, id LIMIT :limit)
  AND due_at <= :now
RETURNING id, scope, source, source_arn, target_arn, document, policy, place, due_at, first_at, attempts, failures, fence, leases;

-- name: held
SELECT id, scope, source, source_arn, target_arn, document, policy, place, due_at, first_at, attempts, failures, fence, leases
FROM deliveries WHERE id = :id AND fence = :fence;

-- name: release
UPDATE deliveries SET place = ?, due_at = ?, leases = 0, attempts = ?, failures = failures + ?
WHERE id = ? AND fence = ?;

-- name: claim_outside
UPDATE deliveries SET due_at = :lease_until, fence = fence + 1, leases = leases + 1, attempts = attempts + 1
WHERE id IN (
    SELECT id FROM deliveries WHERE place = 'outside' AND function = :function AND due_at <= :now
    ORDER BY due_at, id LIMIT :limit
  ) AND due_at <= :now
RETURNING id, scope, source, source_arn, target_arn, document, policy, place, due_at, first_at, attempts, failures, fence, leases;

-- name: outside_by_function
WITH RECURSIVE functions (name) AS (
  SELECT min(function) FROM deliveries WHERE place = 'outside'
  UNION ALL
  SELECT (SELECT min(function) FROM deliveries WHERE place = 'outside' AND function > name)
  FROM functions WHERE name IS NOT NULL
)
SELECT name, (SELECT min(due_at) FROM deliveries WHERE place = 'outside' AND function = name) AS first_due_at
FROM functions WHERE name IS NOT NULL ORDER BY first_due_at, name;

-- name: move_outside
UPDATE deliveries SET place = 'outside', function = ? WHERE id = ? AND fence = ?;

-- name: move
UPDATE deliveries SET place = ? WHERE id = ? AND fence = ?;

-- name: postpone
UPDATE deliveries SET due_at = ?, leases = leases + 1, fence = fence + 1
WHERE id = ? AND fence = ?;

-- name: hasten
UPDATE deliveries SET due_at = :now WHERE id = :id AND due_at > :now AND leases = 0;

-- name: end_leases
UPDATE deliveries SET due_at = :now WHERE due_at > :now AND (leases > 0 OR place NOT IN ('inside', 'outside'));

-- name: bring_near
UPDATE deliveries SET due_at = :now WHERE due_at > :due_at_max;

-- name: delete
DELETE FROM deliveries WHERE id = ? AND fence = ?;

-- name: next -- hot
-- The expression prevents that the statement is prepared again for each run: see `due`.
SELECT min(due_at) FROM deliveries WHERE place = :kind || '';

-- name: count_of_source
SELECT count(*) FROM deliveries WHERE source = :source AND source_arn = :source_arn;

-- name: work
-- Rows in places other than `inside` and `outside` count as leases. Reads the whole table.
SELECT count(CASE WHEN due_at <= :now THEN 1 END), min(due_at),
  count(CASE WHEN due_at > :now AND (leases > 0 OR place NOT IN ('inside', 'outside')) THEN 1 END)
FROM deliveries;
