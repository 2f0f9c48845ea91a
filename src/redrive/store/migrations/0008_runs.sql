-- A delivery's texts are stored once, in its run, not in each attempt and in the attempts' indexes: a day of
-- retries has 186 attempts.
CREATE TABLE runs (run INTEGER PRIMARY KEY, delivery_id TEXT NOT NULL UNIQUE, source_arn TEXT NOT NULL);
CREATE INDEX runs_by_source ON runs (source_arn, delivery_id);

INSERT INTO runs (delivery_id, source_arn)
SELECT delivery_id, min(source_arn) FROM attempts GROUP BY delivery_id ORDER BY delivery_id;

CREATE TABLE attempts_of_runs (
  run INTEGER NOT NULL, attempt INTEGER NOT NULL, ended_at INTEGER NOT NULL,
  code TEXT NOT NULL, message TEXT NOT NULL, verdict TEXT NOT NULL, next_at INTEGER
);
INSERT INTO attempts_of_runs (run, attempt, ended_at, code, message, verdict, next_at)
SELECT runs.run, attempt, ended_at, code, message, verdict, next_at
FROM attempts JOIN runs USING (delivery_id) ORDER BY ended_at, attempts.rowid;

DROP TABLE attempts;
ALTER TABLE attempts_of_runs RENAME TO attempts;
CREATE INDEX attempts_by_run ON attempts (run, attempt);
CREATE INDEX attempts_by_time ON attempts (ended_at);
