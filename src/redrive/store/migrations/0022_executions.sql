-- Executions of state machines. `owner` is the ARN under which an execution is listed: that of its machine, or of its
-- map run. The document never changes; the position is what the next transition begins with.
CREATE TABLE executions (
  arn TEXT NOT NULL PRIMARY KEY, id TEXT NOT NULL, owner TEXT NOT NULL, status TEXT NOT NULL,
  started_at INTEGER NOT NULL, stopped_at INTEGER, events INTEGER NOT NULL, document TEXT NOT NULL,
  position TEXT NOT NULL
);
CREATE INDEX executions_listed ON executions (owner, started_at, arn);
CREATE INDEX executions_by_status ON executions (owner, status, started_at, arn);
CREATE INDEX executions_stopped ON executions (stopped_at) WHERE stopped_at IS NOT NULL;
-- The history of executions in pieces: one row for the events of one transaction, at most some dozens.
CREATE TABLE execution_events (
  execution TEXT NOT NULL, seq INTEGER NOT NULL, events TEXT NOT NULL,
  PRIMARY KEY (execution, seq)
) WITHOUT ROWID;
-- Tasks of activities that no worker has taken yet, in their order.
CREATE TABLE activity_tasks (
  activity TEXT NOT NULL, id TEXT NOT NULL, document TEXT NOT NULL,
  PRIMARY KEY (activity, id)
) WITHOUT ROWID;
