-- What has happened to alarms: their configuration, their state, their actions. Items outlive their alarms.
CREATE TABLE alarm_history (
  scope text COLLATE "C" NOT NULL, alarm text COLLATE "C" NOT NULL, at bigint NOT NULL, id text COLLATE "C" NOT NULL,
  alarm_type text NOT NULL, type text NOT NULL, summary text NOT NULL, data text NOT NULL,
  PRIMARY KEY (scope, at, id)
);
CREATE INDEX alarm_history_by_alarm ON alarm_history (scope, alarm, at, id);
CREATE INDEX alarm_history_by_age ON alarm_history (at);
