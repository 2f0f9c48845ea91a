-- What a transformer has made of a log event, as JSON; NULL where there was no transformer, or it could not read the event.
ALTER TABLE log_events ADD COLUMN transformed text COLLATE "C";
