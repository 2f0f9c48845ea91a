-- name: remember_send
INSERT INTO dedup_sends (queue, scope, id, message_id, seq, expires_at)
VALUES (:queue, :scope, :id, :message_id, :seq, :expires_at)
ON CONFLICT (queue, scope, id) DO UPDATE SET message_id = excluded.message_id, seq = excluded.seq,
  expires_at = excluded.expires_at;

-- name: find_send -- hot
SELECT message_id, seq FROM dedup_sends WHERE queue = :queue AND scope = :scope AND id = :id AND expires_at > :now;

-- name: remember_receive
INSERT INTO dedup_receives (queue, id, receipt, seqs, visible_at, expires_at)
VALUES (:queue, :id, :receipt, :seqs, :visible_at, :expires_at)
ON CONFLICT (queue, id) DO UPDATE SET receipt = excluded.receipt, seqs = excluded.seqs,
  visible_at = excluded.visible_at, expires_at = excluded.expires_at;

-- name: find_receive -- hot
SELECT receipt, seqs, visible_at, expires_at FROM dedup_receives WHERE queue = :queue AND id = :id AND expires_at > :now;

-- name: sweep_sends
DELETE FROM dedup_sends WHERE (queue, scope, id) IN (
  SELECT queue, scope, id FROM dedup_sends WHERE expires_at <= :now ORDER BY expires_at LIMIT :limit
);

-- name: sweep_receives
DELETE FROM dedup_receives WHERE (queue, id) IN (
  SELECT queue, id FROM dedup_receives WHERE expires_at <= :now ORDER BY expires_at LIMIT :limit
);

-- name: bring_near
UPDATE dedup_sends SET expires_at = :expires_at_max WHERE expires_at > :expires_at_max;

-- name: next -- hot
SELECT min(expires_at) FROM (
  SELECT (SELECT min(expires_at) FROM dedup_sends) AS expires_at
  UNION ALL SELECT (SELECT min(expires_at) FROM dedup_receives)
) AS firsts;
