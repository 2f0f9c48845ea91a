-- Executions of state machines. `owner` is the ARN under which an execution is listed: that of its machine, or of its
-- map run. The document never changes; the position is what the next transition begins with.
CREATE TABLE executions (
  arn text COLLATE "C" NOT NULL PRIMARY KEY, id text COLLATE "C" NOT NULL, owner text COLLATE "C" NOT NULL, status text COLLATE "C" NOT NULL,
  started_at bigint NOT NULL, stopped_at bigint, events bigint NOT NULL, document text COLLATE "C" NOT NULL,
  position text COLLATE "C" NOT NULL
);
CREATE INDEX executions_listed ON executions (owner, started_at, arn);
CREATE INDEX executions_by_status ON executions (owner, status, started_at, arn);
CREATE INDEX executions_stopped ON executions (stopped_at) WHERE stopped_at IS NOT NULL;
-- The history of executions in pieces: one row for the events of one transaction, at most some dozens.
CREATE TABLE execution_events (
  execution text COLLATE "C" NOT NULL, seq bigint NOT NULL, events text COLLATE "C" NOT NULL,
  PRIMARY KEY (execution, seq)
);
-- Tasks of activities that no worker has taken yet, in their order.
CREATE TABLE activity_tasks (
  activity text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL, document text COLLATE "C" NOT NULL,
  PRIMARY KEY (activity, id)
);
