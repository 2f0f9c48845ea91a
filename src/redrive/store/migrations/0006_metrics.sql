CREATE TABLE metrics (
  scope TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL, dimensions TEXT NOT NULL, minute INTEGER NOT NULL,
  sum REAL NOT NULL, count REAL NOT NULL, min REAL NOT NULL, max REAL NOT NULL, unit TEXT NOT NULL,
  PRIMARY KEY (scope, namespace, name, dimensions, minute)
) WITHOUT ROWID;
CREATE INDEX metrics_by_minute ON metrics (minute);
