-- Groups of a FIFO queue take turns: of the heads that are visible since the same instant, the head that was received
-- least often comes first. An index finds the messages of standard queues that were received before.
ALTER TABLE messages ADD COLUMN turn INTEGER NOT NULL DEFAULT 0;
DROP INDEX messages_at_head;
CREATE INDEX messages_at_head ON messages (queue, visible_at, turn, seq) WHERE is_head = 1;
CREATE INDEX messages_returned ON messages (queue, visible_at) WHERE receipt <> '' AND deduplication_id IS NULL;
