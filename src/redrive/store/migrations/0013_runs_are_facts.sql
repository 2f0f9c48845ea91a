-- A run's source, target, execution and state become columns. Before, each attempt had them in an English sentence.
-- Runs can be found by execution id. An account's failed runs can be found without reading the delivered ones.
ALTER TABLE runs RENAME TO runs_before;
ALTER TABLE attempts RENAME TO attempts_before;
DROP INDEX runs_by_source;
DROP INDEX attempts_by_run;
DROP INDEX attempts_by_time;

CREATE TABLE runs (
  run INTEGER PRIMARY KEY, delivery_id TEXT NOT NULL UNIQUE, scope TEXT NOT NULL, kind TEXT NOT NULL,
  source_arn TEXT NOT NULL, target_arn TEXT NOT NULL, execution_id TEXT NOT NULL, cause TEXT NOT NULL,
  state TEXT NOT NULL, first_at INTEGER NOT NULL, ended_at INTEGER, left_out INTEGER, left_out_until INTEGER
);
CREATE TABLE attempts (
  run INTEGER NOT NULL, attempt INTEGER NOT NULL, ended_at INTEGER NOT NULL, state TEXT NOT NULL,
  code TEXT NOT NULL, message TEXT NOT NULL, next_at INTEGER,
  letter_arn TEXT, led_to TEXT, why TEXT, log_stream TEXT
);
-- What followed a run's end: a destination was told, or could not be told.
CREATE TABLE notes (
  run INTEGER NOT NULL, at INTEGER NOT NULL, kind TEXT NOT NULL, arn TEXT NOT NULL, led_to TEXT NOT NULL,
  code TEXT NOT NULL, message TEXT NOT NULL
);
-- The messages of a batch, each with its execution, and whether the batch finished the message.
CREATE TABLE links (
  run INTEGER NOT NULL, execution_id TEXT NOT NULL, message_id TEXT NOT NULL, receive_count INTEGER NOT NULL,
  is_done INTEGER NOT NULL
);
-- Messages that went to another queue: to a dead-letter queue, or by a move task, which gives a new message id.
CREATE TABLE moves (
  at INTEGER NOT NULL, execution_id TEXT NOT NULL, kind TEXT NOT NULL, from_arn TEXT NOT NULL, to_arn TEXT NOT NULL,
  message_id TEXT NOT NULL, moved_as TEXT NOT NULL, receive_count INTEGER NOT NULL
);
ALTER TABLE messages ADD COLUMN cause TEXT;

-- Records with these two codes are about a destination or a dead letter, and are no attempts.
INSERT INTO attempts (run, attempt, ended_at, state, code, message, next_at, letter_arn, why)
SELECT run, attempt, ended_at,
  CASE WHEN verdict = 'retry' THEN 'retrying' WHEN verdict LIKE 'dead-lettered to %' THEN 'dead-lettered'
    WHEN verdict LIKE 'dropped: %' THEN 'dropped' WHEN verdict LIKE 'missed: %' THEN 'missed' ELSE verdict END,
  code, message, next_at,
  CASE WHEN verdict LIKE 'dead-lettered to %' THEN substr(verdict, 18)
    WHEN verdict LIKE 'dropped: the dead letter to % failed with %'
    THEN substr(verdict, 29, instr(verdict, ' failed with ') - 29) END,
  CASE WHEN verdict LIKE 'dropped: %' THEN substr(verdict, 10) WHEN verdict LIKE 'missed: %' THEN substr(verdict, 9) END
FROM attempts_before WHERE code NOT IN ('DestinationDeliveryFailures', 'DeadLetterErrors') ORDER BY ended_at, rowid;
INSERT INTO notes (run, at, kind, arn, led_to, code, message)
SELECT run, ended_at, CASE code WHEN 'DeadLetterErrors' THEN 'letter' ELSE 'destination' END, '', '', code, message
FROM attempts_before WHERE code IN ('DestinationDeliveryFailures', 'DeadLetterErrors') ORDER BY ended_at, rowid;

CREATE INDEX attempts_by_run ON attempts (run, attempt);
CREATE INDEX attempts_by_time ON attempts (ended_at);
CREATE INDEX notes_by_run ON notes (run);

INSERT INTO runs (
  run, delivery_id, scope, kind, source_arn, target_arn, execution_id, cause, state, first_at, ended_at,
  left_out, left_out_until
)
SELECT run, delivery_id, coalesce(parts ->> '$[4]' || '/' || (parts ->> '$[3]'), ''), coalesce(parts ->> '$[2]', ''),
  source_arn, CASE parts ->> '$[2]' WHEN 'lambda' THEN source_arn ELSE '' END,
  CASE WHEN delivery_id LIKE 'arn:%#%' THEN substr(delivery_id, -36) ELSE delivery_id END, '',
  last.state,
  CASE WHEN last.state = 'missed' AND delivery_id LIKE 'arn:%#%'
    THEN coalesce(strftime('%s', substr(delivery_id, -57, 20)) * 1000, last.first_at) ELSE last.first_at END,
  CASE WHEN last.state <> 'retrying' THEN last.ended_at END,
  CASE WHEN last.state = 'missed' THEN CAST(last.message AS INTEGER) END,
  CASE WHEN last.state = 'missed' THEN strftime('%s', substr(last.message, -20)) * 1000 END
FROM (
  SELECT run, delivery_id, source_arn,
    CASE WHEN source_arn LIKE 'arn:%:%:%:%:%' THEN '["' || replace(source_arn, ':', '","') || '"]' END AS parts
  FROM runs_before
) JOIN (
  SELECT run, state, message, ended_at, min(ended_at) OVER (PARTITION BY run) AS first_at,
    row_number() OVER (PARTITION BY run ORDER BY attempt DESC, rowid DESC) AS nth
  FROM attempts
) AS last USING (run) WHERE nth = 1;
CREATE INDEX runs_by_source ON runs (source_arn, first_at);
CREATE INDEX runs_by_time ON runs (scope, first_at);
CREATE INDEX runs_by_execution ON runs (execution_id);
CREATE INDEX runs_by_state ON runs (scope, state, first_at) WHERE state <> 'delivered';
CREATE INDEX links_by_run ON links (run);
CREATE INDEX links_by_execution ON links (execution_id);
CREATE INDEX moves_by_execution ON moves (execution_id);
CREATE INDEX moves_by_time ON moves (at);
DROP TABLE runs_before;
DROP TABLE attempts_before;
CREATE INDEX attempts_by_message ON attempts (led_to) WHERE led_to IS NOT NULL;
CREATE INDEX links_by_message ON links (message_id);
CREATE INDEX moves_by_message ON moves (moved_as);
