-- name: put
INSERT INTO messages (queue, message_id, body, body_md5, attributes, system_attributes, sender_id, group_id, sent_at, visible_at, expires_at)
VALUES (:queue, :message_id, :body, :body_md5, :attributes, :system_attributes, :sender_id, :group_id, :sent_at, :visible_at, :expires_at);

-- name: claim_visible -- hot
-- A message that this same receive took a moment ago, and that a timeout of 0 left visible, is not taken twice.
UPDATE messages SET visible_at = :visible_at, receive_count = receive_count + 1, receipt = :receipt,
  received_at = :now, first_received_at = coalesce(first_received_at, :now)
WHERE seq IN (
    SELECT seq FROM messages WHERE queue = :queue AND visible_at <= :now AND expires_at > :now AND receipt <> :receipt
    ORDER BY visible_at, seq LIMIT :limit
  ) AND queue = :queue AND visible_at <= :now
RETURNING seq, message_id, body, body_md5, attributes, system_attributes, sender_id, group_id, sent_at, receive_count,
  first_received_at, receipt, source_queue_arn;

-- name: dead_letter -- hot
-- The claim counted one receive too many: nobody was given the message.
UPDATE messages SET queue = :dead_letter_queue, visible_at = :now, expires_at = sent_at + :retention_ms, receipt = '',
  receive_count = receive_count - 1, source_queue_arn = :source_queue_arn
WHERE queue = :queue AND visible_at = :visible_at AND receipt = :receipt AND receive_count > :receive_count_max;

-- name: give_back
UPDATE messages SET visible_at = :now, receipt = '', receive_count = receive_count - 1,
  first_received_at = CASE WHEN receive_count > 1 THEN first_received_at END
WHERE queue = :queue AND visible_at = :visible_at AND receipt = :receipt;

-- name: held
SELECT visible_at, received_at FROM messages WHERE seq = :seq AND queue = :queue AND receipt = :receipt;

-- name: release
UPDATE messages SET visible_at = :visible_at WHERE seq = :seq AND queue = :queue AND receipt = :receipt;

-- name: delete
DELETE FROM messages WHERE seq = :seq AND queue = :queue AND receipt = :receipt;

-- name: retain
UPDATE messages SET expires_at = sent_at + :retention_ms WHERE queue = :queue;

-- name: purge
DELETE FROM messages WHERE queue = :queue;

-- name: expire
DELETE FROM messages WHERE expires_at <= :now;

-- name: counts
SELECT count(*) FILTER (WHERE visible_at <= :now), count(*) FILTER (WHERE visible_at > :now AND receipt <> ''),
  count(*) FILTER (WHERE visible_at > :now AND receipt = '')
FROM messages WHERE queue = :queue AND expires_at > :now;

-- name: next_visible -- hot
SELECT visible_at FROM messages WHERE queue = :queue AND expires_at > :now ORDER BY visible_at LIMIT 1;

-- name: count_visible
SELECT count(*) FROM (
  SELECT 1 FROM messages WHERE queue = :queue AND visible_at <= :now AND expires_at > :now LIMIT :limit
);

-- name: count_in_flight
SELECT count(*) FROM (
  SELECT 1 FROM messages WHERE queue = :queue AND visible_at > :now AND receipt <> '' LIMIT :limit
);
