-- Most deliveries succeed at the first attempt. Such a run says all of its attempt, which has no row of its own then.
ALTER TABLE runs ADD COLUMN is_once bigint NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN led_to text COLLATE "C";
ALTER TABLE runs ADD COLUMN log_stream text COLLATE "C";
CREATE INDEX runs_once ON runs (ended_at) WHERE is_once = 1;
CREATE INDEX runs_by_message ON runs (led_to) WHERE led_to IS NOT NULL;
