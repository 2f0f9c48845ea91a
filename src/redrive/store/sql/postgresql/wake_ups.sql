-- name: put
-- Only PostgreSQL has this table: nodes would otherwise wait for each other at the rows of timers.
INSERT INTO wake_ups (kind, name, at) VALUES (:kind, :name, :at);

-- name: take
-- Only PostgreSQL has this table. Wake-ups that others commit later stay, also those of the same timers.
WITH taken AS (
  DELETE FROM wake_ups
  WHERE seq = ANY(ARRAY(SELECT seq FROM wake_ups ORDER BY seq LIMIT :limit FOR UPDATE SKIP LOCKED))
  RETURNING kind, name, at
)
INSERT INTO timers (kind, name, at) SELECT kind, name, min(at) FROM taken GROUP BY kind, name ORDER BY kind, name
ON CONFLICT (kind, name) DO UPDATE SET at = excluded.at WHERE excluded.at < timers.at;
