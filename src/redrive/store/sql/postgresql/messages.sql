-- Outside of a subquery stands `queue || ''`, and `+` before numbers: so the planner finds the rows by their primary key.
-- It could search a whole queue in another index, because it does not know how few rows the ARRAY has.

-- name: claim_visible
-- Claims of several nodes lock what they take and skip what another one has locked. An ARRAY is computed once: a join with
-- the subquery could compute it again, and take more than the limit. PostgreSQL refuses the unary plus before a text.
UPDATE messages SET visible_at = :visible_at, receive_count = receive_count + 1, receipt = :receipt,
  received_at = :now, first_received_at = coalesce(first_received_at, :now)
WHERE seq = ANY(ARRAY(
    SELECT DISTINCT seq FROM unnest(
      ARRAY(
        SELECT seq FROM messages WHERE queue = :queue AND visible_at <= :now AND +expires_at > :now AND receipt <> :receipt
        ORDER BY visible_at, seq LIMIT :limit FOR UPDATE SKIP LOCKED
      ) || ARRAY(
        SELECT seq FROM messages
        WHERE queue = :queue AND visible_at <= :now AND receipt <> '' AND deduplication_id IS NULL
          AND +expires_at > :now AND receipt <> :receipt
        ORDER BY visible_at, seq LIMIT :limit FOR UPDATE SKIP LOCKED
      )
    ) AS candidates (seq)
    ORDER BY seq LIMIT :limit
  )) AND queue || '' = :queue AND +visible_at <= :now AND receipt <> :receipt
RETURNING seq, message_id, body, body_md5, attributes, system_attributes, sender_id, group_id, deduplication_id, sent_at,
  receive_count, first_received_at, receipt, source_queue_arn, cause;

-- name: held
-- The caller decides by what it reads and then writes: no other node may change the message in between.
SELECT visible_at, received_at, receipt FROM messages WHERE seq = :seq AND queue = :queue AND receipt <> '' FOR UPDATE;

-- name: purge
-- An ARRAY is computed once. Locked messages are waited for, not skipped: a purge leaves no message.
DELETE FROM messages
WHERE seq = ANY(ARRAY(SELECT seq FROM messages WHERE queue = :queue ORDER BY visible_at, seq LIMIT :limit))
  AND queue || '' = :queue;

-- name: expire
-- Several nodes share the work: each one skips what another one has locked.
DELETE FROM messages WHERE seq = ANY(ARRAY(
  SELECT seq FROM messages WHERE queue = :queue AND expires_at <= :now ORDER BY expires_at LIMIT :limit
  FOR UPDATE SKIP LOCKED
)) AND queue || '' = :queue AND +expires_at <= :now;

-- name: claim_in_order
-- PostgreSQL has no ORDER BY and LIMIT in a recursion. Each head's group is read up to its first hidden message; a group
-- is read only while the groups before it have too few messages. The caller has locked the queue.
UPDATE messages SET visible_at = :visible_at, receive_count = receive_count + 1, receipt = :receipt, turn = turn + 1,
  received_at = :now, first_received_at = coalesce(first_received_at, :now)
WHERE seq = ANY(ARRAY(
    SELECT walk.seq FROM (
      SELECT walked.seq, walked.receipt, heads.visible_at, heads.turn, heads.seq AS head
      FROM (
        SELECT visible_at, turn, seq, group_id FROM messages
        WHERE queue = :queue AND is_head = 1 AND visible_at <= :now ORDER BY visible_at, turn, seq LIMIT :walk
      ) AS heads CROSS JOIN LATERAL (
        SELECT first.seq, first.receipt, bool_and(first.visible_at <= :now) OVER (ORDER BY first.seq) AS is_open
        FROM (
          SELECT seq, receipt, visible_at FROM messages
          WHERE queue = :queue AND group_id = heads.group_id AND seq >= heads.seq ORDER BY seq LIMIT :walk
        ) AS first
      ) AS walked
      WHERE walked.is_open ORDER BY heads.visible_at, heads.turn, heads.seq, walked.seq LIMIT :walk
    ) AS walk
    WHERE walk.receipt <> :receipt ORDER BY walk.visible_at, walk.turn, walk.head, walk.seq LIMIT :limit
  )) AND queue || '' = :queue AND +visible_at <= :now
RETURNING seq, message_id, body, body_md5, attributes, system_attributes, sender_id, group_id, deduplication_id, sent_at,
  receive_count, first_received_at, receipt, source_queue_arn, cause;

-- name: expire_some_in_order
-- An ARRAY is computed once: a join with the subquery could compute it again for each row.
DELETE FROM messages WHERE seq = ANY(ARRAY(
    SELECT seq FROM messages WHERE queue = :queue AND expires_at <= :now ORDER BY expires_at LIMIT :limit
  )) AND queue || '' = :queue
RETURNING group_id;

-- name: count_held
-- PostgreSQL has another function for JSON's elements.
SELECT count(*) FROM messages
WHERE seq = ANY(ARRAY(SELECT value::bigint FROM json_array_elements_text(CAST(:seqs AS text)::json) AS value))
  AND queue || '' = :queue AND receipt = :receipt AND +visible_at = :was_visible_at AND +visible_at > :now;

-- name: hold_again
-- PostgreSQL has another function for JSON's elements, and refuses the unary plus before a text.
UPDATE messages SET visible_at = :visible_at
WHERE seq = ANY(ARRAY(SELECT value::bigint FROM json_array_elements_text(CAST(:seqs AS text)::json) AS value))
  AND queue || '' = :queue AND receipt = :receipt
RETURNING seq, message_id, body, body_md5, attributes, system_attributes, sender_id, group_id, deduplication_id, sent_at,
  receive_count, first_received_at, receipt, source_queue_arn, cause;

-- name: claim_of_other_groups
-- PostgreSQL has no LIMIT in a recursion, so the groups are counted. The messages are chosen first and locked then, so
-- that no more than the limit are locked. More are chosen, because those that other nodes have locked are skipped.
UPDATE messages SET visible_at = :visible_at, receive_count = receive_count + 1, receipt = :receipt,
  received_at = :now, first_received_at = coalesce(first_received_at, :now)
WHERE seq = ANY(ARRAY(
    SELECT seq FROM messages WHERE seq = ANY(ARRAY(
        WITH RECURSIVE groups (id, nth) AS (
          SELECT min(group_id), CAST(1 AS bigint) FROM messages WHERE queue = :queue AND group_id IS NOT NULL
          UNION ALL
          SELECT (SELECT min(group_id) FROM messages WHERE queue = :queue AND group_id > groups.id), groups.nth + 1
          FROM groups WHERE groups.id IS NOT NULL AND groups.nth < :groups_max
        )
        SELECT chosen.seq FROM groups CROSS JOIN LATERAL (
          SELECT seq, visible_at FROM messages
          WHERE queue = :queue AND group_id = groups.id AND +visible_at <= :now AND +expires_at > :now
          ORDER BY seq LIMIT :limit
        ) AS chosen
        WHERE groups.id <> ALL(ARRAY(SELECT json_array_elements_text(CAST(:groups AS text)::json)))
        ORDER BY chosen.visible_at, chosen.seq LIMIT 4::bigint * :limit
      )) AND queue || '' = :queue AND +visible_at <= :now
    ORDER BY visible_at, seq LIMIT :limit FOR UPDATE SKIP LOCKED
  )) AND queue || '' = :queue AND +visible_at <= :now
RETURNING seq, message_id, body, body_md5, attributes, system_attributes, sender_id, group_id, deduplication_id, sent_at,
  receive_count, first_received_at, receipt, source_queue_arn, cause;
