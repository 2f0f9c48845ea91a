-- What was stored in a log group after an event, in the order of storing: a live tail asks for it each second.
CREATE INDEX log_events_by_arrival ON log_events (log_group, seq);
