-- name: set
INSERT INTO timers (kind, name, at) VALUES (?, ?, ?)
ON CONFLICT (kind, name) DO UPDATE SET at = excluded.at;

-- name: hasten
INSERT INTO timers (kind, name, at) VALUES (:kind, :name, :at)
ON CONFLICT (kind, name) DO UPDATE SET at = excluded.at WHERE excluded.at < timers.at;

-- name: clear
DELETE FROM timers WHERE kind = ? AND name = ?;

-- name: get
SELECT at FROM timers WHERE kind = :kind AND name = :name;

-- name: due -- hot
SELECT name, at FROM timers WHERE kind = :kind AND at <= :now ORDER BY at, name LIMIT :limit;

-- name: next -- hot
SELECT min(at) FROM timers WHERE kind = :kind;

-- name: next_by_kind -- reads all timers: only the few of a store that is searched
SELECT kind, min(at) FROM timers GROUP BY kind;

-- name: next_after
SELECT min(at) FROM timers WHERE kind = :kind AND at > :after;
