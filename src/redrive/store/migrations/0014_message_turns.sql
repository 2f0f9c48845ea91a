-- Groups of a FIFO queue take turns: among heads that are visible since the same instant, the one that was taken least
-- often comes first. Messages of standard queues that a receive took and gave back are found by themselves.
ALTER TABLE messages ADD COLUMN turn INTEGER NOT NULL DEFAULT 0;
DROP INDEX messages_at_head;
CREATE INDEX messages_at_head ON messages (queue, visible_at, turn, seq) WHERE is_head = 1;
CREATE INDEX messages_returned ON messages (queue, visible_at) WHERE receipt <> '' AND deduplication_id IS NULL;
