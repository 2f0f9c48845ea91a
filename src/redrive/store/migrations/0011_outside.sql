-- The function of an outside delivery. Functions share the slots for attempts, so deliveries are claimed by function.
ALTER TABLE deliveries ADD COLUMN function TEXT NOT NULL DEFAULT '';
UPDATE deliveries SET function = source_arn WHERE source = 'lambda';
CREATE INDEX deliveries_outside ON deliveries (function, due_at, id) WHERE place = 'outside';
