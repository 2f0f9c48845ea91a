-- name: due
-- The rows stay locked until they are claimed or changed, so that no two nodes send one.
SELECT id, scope, source, source_arn, target_arn, document, policy, place, due_at, first_at, attempts + 1, failures, fence, leases
FROM deliveries WHERE place = :place AND due_at <= :now ORDER BY due_at, id LIMIT :limit FOR UPDATE SKIP LOCKED;

-- name: claim_due
-- Claims of several nodes lock what they take and skip what another one has locked. An ARRAY is computed once.
UPDATE deliveries SET due_at = :lease_until, fence = fence + 1, leases = leases + 1, attempts = attempts + 1
WHERE id = ANY(ARRAY(
    SELECT id FROM deliveries WHERE place = :place AND due_at <= :now ORDER BY due_at, id LIMIT :limit
    FOR UPDATE SKIP LOCKED
  )) AND place || '' = :place AND +due_at <= :now
RETURNING id, scope, source, source_arn, target_arn, document, policy, place, due_at, first_at, attempts, failures, fence, leases;

-- name: held
-- The caller settles what it reads: no other node may claim the delivery in between.
SELECT id, scope, source, source_arn, target_arn, document, policy, place, due_at, first_at, attempts, failures, fence, leases
FROM deliveries WHERE id = :id AND fence = :fence FOR UPDATE;

-- name: claim_outside
-- Claims of several nodes lock what they take and skip what another one has locked. An ARRAY is computed once.
UPDATE deliveries SET due_at = :lease_until, fence = fence + 1, leases = leases + 1, attempts = attempts + 1
WHERE id = ANY(ARRAY(
    SELECT id FROM deliveries WHERE place = 'outside' AND function = :function AND due_at <= :now
    ORDER BY due_at, id LIMIT :limit FOR UPDATE SKIP LOCKED
  )) AND place || '' = 'outside' AND function || '' = :function AND +due_at <= :now
RETURNING id, scope, source, source_arn, target_arn, document, policy, place, due_at, first_at, attempts, failures, fence, leases;

-- name: hasten
-- A row that another node has locked is due there already; to wait for that node could be to wait for each other.
UPDATE deliveries SET due_at = :now
WHERE id = (SELECT id FROM deliveries WHERE id = :id AND due_at > :now AND leases = 0 FOR UPDATE SKIP LOCKED);
