-- What was stored in a log group after an event, in the order of storing: a live tail asks for it each second. Rows are in
-- the order of their seq within equal keys.
CREATE INDEX log_events_by_arrival ON log_events (log_group);
