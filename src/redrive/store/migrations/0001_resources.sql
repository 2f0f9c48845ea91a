CREATE TABLE resources (
  kind TEXT NOT NULL, scope TEXT NOT NULL, name TEXT NOT NULL,
  document TEXT NOT NULL, version INTEGER NOT NULL,
  PRIMARY KEY (kind, scope, name)
) WITHOUT ROWID;

CREATE TABLE timers (
  kind TEXT NOT NULL, name TEXT NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY (kind, name)
) WITHOUT ROWID;
CREATE INDEX timers_by_time ON timers (kind, at, name);
