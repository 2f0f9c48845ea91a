-- Client tokens. They were resources with a timer each: every request with a token wrote two rows at random positions.
CREATE TABLE tokens (
  kind TEXT NOT NULL, scope TEXT NOT NULL, token TEXT NOT NULL, digest TEXT NOT NULL, answer TEXT NOT NULL,
  expires_at INTEGER NOT NULL, PRIMARY KEY (kind, scope, token)
) WITHOUT ROWID;
CREATE INDEX tokens_by_expiry ON tokens (expires_at);

INSERT INTO tokens (kind, scope, token, digest, answer, expires_at)
SELECT 'scheduler.' || substr(resources.name, 1, instr(resources.name, '/') - 1), resources.scope,
  substr(resources.name, instr(resources.name, '/') + 1), document ->> '$.digest', document -> '$.answer', timers.at
FROM resources JOIN timers ON timers.kind = resources.kind AND timers.name = resources.scope || '/' || resources.name
WHERE resources.kind = 'scheduler.token';
INSERT INTO tokens (kind, scope, token, digest, answer, expires_at)
SELECT 'dynamodb.TransactWriteItems', scope, name, document ->> '$.digest', '{}', document ->> '$.expires_at'
FROM resources WHERE kind = 'dynamodb.transaction-token';
DELETE FROM resources WHERE kind IN ('scheduler.token', 'dynamodb.transaction-token');
DELETE FROM timers WHERE kind IN ('scheduler.token', 'dynamodb.transaction-tokens');
