-- What has happened to alarms: their configuration, their state, their actions. Items outlive their alarms.
CREATE TABLE alarm_history (
  scope TEXT NOT NULL, alarm TEXT NOT NULL, at INTEGER NOT NULL, id TEXT NOT NULL,
  alarm_type TEXT NOT NULL, type TEXT NOT NULL, summary TEXT NOT NULL, data TEXT NOT NULL,
  PRIMARY KEY (scope, at, id)
) WITHOUT ROWID;
CREATE INDEX alarm_history_by_alarm ON alarm_history (scope, alarm, at, id);
CREATE INDEX alarm_history_by_age ON alarm_history (at);
