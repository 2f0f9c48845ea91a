-- Whose run a delivery outside is: functions share the slots for attempts, so each one's are found by themselves.
ALTER TABLE deliveries ADD COLUMN function TEXT NOT NULL DEFAULT '';
UPDATE deliveries SET function = source_arn WHERE source = 'lambda';
CREATE INDEX deliveries_outside ON deliveries (function, due_at, id) WHERE place = 'outside';
