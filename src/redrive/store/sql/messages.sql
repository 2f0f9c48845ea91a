-- name: put
INSERT INTO messages (queue, message_id, body, body_md5, sender_id, sent_at, visible_at, expires_at,
  cause, attributes, system_attributes, group_id)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: put_plain
-- Most messages have only these columns, and each column costs time.
INSERT INTO messages (queue, message_id, body, body_md5, sender_id, sent_at, visible_at, expires_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?);

-- name: put_caused
INSERT INTO messages (queue, message_id, body, body_md5, sender_id, sent_at, visible_at, expires_at, cause)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: claim_visible -- hot
-- In the order of sending, among the messages that are visible the longest and those that were received before.
-- With a timeout of 0, a message stays visible: the receipt's condition keeps one receive from taking it twice.
-- The plus signs stop the query planner from reading all visible or unexpired rows instead of the few chosen rows.
UPDATE messages SET visible_at = :visible_at, receive_count = receive_count + 1, receipt = :receipt,
  received_at = :now, first_received_at = coalesce(first_received_at, :now)
WHERE seq IN (
    SELECT seq FROM (
      SELECT seq FROM messages WHERE queue = :queue AND visible_at <= :now AND +expires_at > :now AND +receipt <> :receipt
      ORDER BY visible_at, seq LIMIT :limit
    )
    UNION
    SELECT seq FROM (
      SELECT seq FROM messages INDEXED BY messages_returned
      WHERE queue = :queue AND visible_at <= :now AND receipt <> '' AND deduplication_id IS NULL
        AND +expires_at > :now AND +receipt <> :receipt
      ORDER BY visible_at LIMIT :limit
    )
    ORDER BY seq LIMIT :limit
  ) AND +queue = :queue AND +visible_at <= :now
RETURNING seq, message_id, body, body_md5, attributes, system_attributes, sender_id, group_id, deduplication_id, sent_at,
  receive_count, first_received_at, receipt, source_queue_arn, cause;

-- name: dead_letter -- hot
-- The claim is not a receive of these messages, because no consumer gets them: subtract it from the count.
UPDATE messages SET queue = :dead_letter_queue, visible_at = :now, expires_at = sent_at + :retention_ms, receipt = '',
  receive_count = receive_count - 1, source_queue_arn = :source_queue_arn
WHERE queue = :queue AND visible_at = :visible_at AND receipt = :receipt AND receive_count > :receive_count_max;

-- name: give_back
UPDATE messages SET visible_at = :now, receipt = '', receive_count = receive_count - 1,
  first_received_at = CASE WHEN receive_count > 1 THEN first_received_at END
WHERE queue = :queue AND visible_at = :visible_at AND receipt = :receipt;

-- name: held
SELECT visible_at, received_at, receipt FROM messages WHERE seq = :seq AND queue = :queue AND receipt <> '';

-- name: release
UPDATE messages SET visible_at = :visible_at WHERE seq = :seq AND queue = :queue AND receipt <> '';

-- name: restore_receipt
UPDATE messages SET receipt = :receipt WHERE seq = :seq AND queue = :queue AND receipt <> '';

-- name: delete
DELETE FROM messages WHERE seq = :seq AND queue = :queue AND receipt = :receipt;

-- name: retain
UPDATE messages SET expires_at = sent_at + :retention_ms WHERE queue = :queue;

-- name: purge
DELETE FROM messages WHERE seq IN (SELECT seq FROM messages WHERE queue = :queue ORDER BY visible_at, seq LIMIT :limit);

-- name: bring_near
UPDATE messages SET visible_at = :now WHERE queue = :queue AND visible_at > :hidden_until_max;

-- name: first_expiry -- hot
SELECT min(expires_at) FROM messages WHERE queue = ?;

-- name: expire -- hot
DELETE FROM messages WHERE seq IN (
  SELECT seq FROM messages WHERE queue = :queue AND expires_at <= :now ORDER BY expires_at LIMIT :limit
);

-- name: counts -- hot
-- Visible messages are counted in the index alone, which is fast for any number. Expired ones are then subtracted.
SELECT (SELECT count(*) FROM messages WHERE queue = :queue AND visible_at <= :now)
    - (SELECT count(*) FROM messages WHERE queue = :queue AND expires_at <= :now AND +visible_at <= :now),
  count(*) FILTER (WHERE receipt <> ''), count(*) FILTER (WHERE receipt = '')
FROM messages WHERE queue = :queue AND visible_at > :now AND +expires_at > :now;

-- name: next_visible -- hot
SELECT visible_at FROM messages WHERE queue = :queue AND +expires_at > :now ORDER BY visible_at LIMIT 1;

-- name: count_visible
SELECT count(*) FROM (
  SELECT 1 FROM messages WHERE queue = :queue AND visible_at <= :now AND +expires_at > :now LIMIT :limit
) AS visible;

-- name: count_in_flight
SELECT count(*) FROM (
  SELECT 1 FROM messages WHERE queue = :queue AND visible_at > :now AND receipt <> '' LIMIT :limit
) AS held;

-- name: oldest_sent_at -- hot
SELECT sent_at FROM messages WHERE queue = :queue AND expires_at > :now ORDER BY expires_at LIMIT 1;

-- name: put_in_order -- hot
-- Stores nothing and returns no row if the deduplication id was sent before and has not expired.
INSERT INTO messages (queue, message_id, body, body_md5, attributes, system_attributes, sender_id, group_id,
  deduplication_id, is_head, sent_at, visible_at, expires_at, receive_count, first_received_at, source_queue_arn, cause)
SELECT :queue, :message_id, :body, :body_md5, :attributes, :system_attributes, :sender_id, :group_id,
  :deduplication_id,
  CASE WHEN EXISTS (SELECT 1 FROM messages WHERE queue = :queue AND group_id = :group_id) THEN 0 ELSE 1 END,
  :sent_at, :visible_at, :expires_at, :receive_count, :first_received_at, :source_queue_arn, :cause
WHERE NOT EXISTS (
  SELECT 1 FROM dedup_sends
  WHERE queue = :remembered_by AND scope = :scope AND id = :deduplication_id AND expires_at > :sent_at
)
RETURNING seq;

-- name: claim_in_order -- hot
-- Starts at the visible heads. Walks each group to its last visible message before the next group.
-- With a timeout of 0, a message stays visible: the walk skips those with this receipt, so that none is taken twice.
UPDATE messages SET visible_at = :visible_at, receive_count = receive_count + 1, receipt = :receipt, turn = turn + 1,
  received_at = :now, first_received_at = coalesce(first_received_at, :now)
WHERE seq IN (
    WITH RECURSIVE walk (head_visible_at, head_turn, head, seq, group_id, receipt) AS (
      SELECT * FROM (
        SELECT visible_at, turn, seq, seq, group_id, receipt FROM messages
        WHERE queue = :queue AND is_head = 1 AND visible_at <= :now ORDER BY visible_at, turn, seq LIMIT :walk
      )
      UNION ALL
      SELECT walk.head_visible_at, walk.head_turn, walk.head, next.seq, walk.group_id, next.receipt
      FROM walk CROSS JOIN messages AS next
      WHERE next.seq = (
          SELECT seq FROM messages WHERE queue = :queue AND group_id = walk.group_id AND seq > walk.seq
          ORDER BY seq LIMIT 1
        ) AND next.visible_at <= :now
      ORDER BY 1, 2, 3, 4 LIMIT :walk
    )
    SELECT seq FROM walk WHERE receipt <> :receipt LIMIT :limit
  ) AND +queue = :queue AND +visible_at <= :now
RETURNING seq, message_id, body, body_md5, attributes, system_attributes, sender_id, group_id, deduplication_id, sent_at,
  receive_count, first_received_at, receipt, source_queue_arn, cause;

-- name: delete_in_order
DELETE FROM messages WHERE seq = :seq AND queue = :queue AND receipt = :receipt AND visible_at > :now
RETURNING group_id, turn;

-- name: take_out
DELETE FROM messages WHERE seq = :seq;

-- name: promote -- hot
UPDATE messages SET is_head = 1
WHERE is_head = 0
  AND seq = (SELECT seq FROM messages WHERE queue = :queue AND group_id = :group_id ORDER BY seq LIMIT 1);

-- name: promote_to_the_back -- hot
-- A group that was received from comes after the groups that are visible already.
UPDATE messages SET is_head = 1, visible_at = CASE WHEN visible_at < :now THEN :now ELSE visible_at END,
  turn = CASE WHEN turn < :turn THEN :turn ELSE turn END
WHERE is_head = 0
  AND seq = (SELECT seq FROM messages WHERE queue = :queue AND group_id = :group_id ORDER BY seq LIMIT 1);

-- name: expire_in_order -- hot
DELETE FROM messages WHERE queue = :queue AND expires_at <= :now RETURNING group_id;

-- name: expire_some_in_order -- hot
DELETE FROM messages WHERE seq IN (
    SELECT seq FROM messages WHERE queue = :queue AND expires_at <= :now ORDER BY expires_at LIMIT :limit
  )
RETURNING group_id;

-- name: exists
SELECT 1 FROM messages WHERE seq = :seq AND queue = :queue;

-- name: delay
UPDATE messages SET visible_at = sent_at + :delay_ms WHERE queue = :queue AND receive_count = 0;

-- name: next_head -- hot
SELECT visible_at FROM messages WHERE queue = :queue AND is_head = 1 ORDER BY visible_at LIMIT 1;

-- name: count_held
SELECT count(*) FROM messages
WHERE seq IN (SELECT value FROM json_each(:seqs)) AND queue = :queue AND receipt = :receipt
  AND visible_at = :was_visible_at AND visible_at > :now;

-- name: hold_again
UPDATE messages SET visible_at = :visible_at
WHERE seq IN (SELECT value FROM json_each(:seqs)) AND +queue = :queue AND receipt = :receipt
RETURNING seq, message_id, body, body_md5, attributes, system_attributes, sender_id, group_id, deduplication_id, sent_at,
  receive_count, first_received_at, receipt, source_queue_arn, cause;

-- name: in_flight_by_group
SELECT group_id, count(*) FROM (
  SELECT group_id FROM messages WHERE queue = :queue AND visible_at > :now AND receipt <> ''
  ORDER BY visible_at DESC LIMIT :limit
) AS held GROUP BY group_id;

-- name: claim_of_other_groups
-- Steps from group to group, so that the many messages of the excluded groups cost nothing.
UPDATE messages SET visible_at = :visible_at, receive_count = receive_count + 1, receipt = :receipt,
  received_at = :now, first_received_at = coalesce(first_received_at, :now)
WHERE seq IN (
    WITH RECURSIVE groups (id) AS (
      SELECT min(group_id) FROM messages WHERE queue = :queue AND group_id IS NOT NULL
      UNION ALL
      SELECT (SELECT min(group_id) FROM messages WHERE queue = :queue AND group_id > groups.id)
      FROM groups WHERE groups.id IS NOT NULL
      LIMIT :groups_max
    )
    SELECT chosen.seq FROM groups CROSS JOIN messages AS chosen
    WHERE groups.id NOT IN (SELECT value FROM json_each(:groups)) AND chosen.seq IN (
        SELECT seq FROM messages
        WHERE queue = :queue AND group_id = groups.id AND +visible_at <= :now AND +expires_at > :now
        ORDER BY seq LIMIT :limit
      )
    ORDER BY chosen.visible_at, chosen.seq LIMIT :limit
  ) AND +queue = :queue AND +visible_at <= :now
RETURNING seq, message_id, body, body_md5, attributes, system_attributes, sender_id, group_id, deduplication_id, sent_at,
  receive_count, first_received_at, receipt, source_queue_arn, cause;

-- name: visible -- hot
SELECT seq, message_id, body, body_md5, attributes, system_attributes, sender_id, group_id, deduplication_id, sent_at,
  receive_count, first_received_at, receipt, source_queue_arn, cause
FROM messages WHERE queue = :queue AND visible_at <= :now AND +expires_at > :now ORDER BY visible_at, seq LIMIT :limit;

-- name: visible_in_order -- hot
SELECT seq, message_id, body, body_md5, attributes, system_attributes, sender_id, group_id, deduplication_id, sent_at,
  receive_count, first_received_at, receipt, source_queue_arn, cause
FROM messages WHERE queue = :queue AND is_head = 1 AND visible_at <= :now AND +expires_at > :now
ORDER BY visible_at, turn, seq LIMIT :limit;

-- name: executions_of -- ten at a time: after `deserialize`, SQLite crashes in a prepared statement with json_each
SELECT coalesce(cause, message_id), message_id, receive_count FROM messages
WHERE seq IN (:seq0, :seq1, :seq2, :seq3, :seq4, :seq5, :seq6, :seq7, :seq8, :seq9) ORDER BY seq;
