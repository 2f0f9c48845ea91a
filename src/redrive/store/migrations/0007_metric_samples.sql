-- Values with different units are stored separately. Samples are the single values, for percentiles.
ALTER TABLE metrics RENAME TO metrics_without_samples;
CREATE TABLE metrics (
  scope TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL, dimensions TEXT NOT NULL, unit TEXT NOT NULL,
  minute INTEGER NOT NULL,
  sum REAL NOT NULL, count REAL NOT NULL, min REAL NOT NULL, max REAL NOT NULL, samples TEXT,
  PRIMARY KEY (scope, namespace, name, dimensions, unit, minute)
) WITHOUT ROWID;
INSERT INTO metrics (scope, namespace, name, dimensions, unit, minute, sum, count, min, max)
SELECT scope, namespace, name, dimensions, unit, minute, sum, count, min, max FROM metrics_without_samples;
DROP TABLE metrics_without_samples;
CREATE INDEX metrics_by_minute ON metrics (minute);
