-- name: find -- hot
SELECT digest, answer FROM tokens WHERE kind = :kind AND scope = :scope AND token = :token AND expires_at > :now;

-- name: keep -- hot
INSERT INTO tokens (kind, scope, token, digest, answer, expires_at)
VALUES (:kind, :scope, :token, :digest, :answer, :expires_at)
ON CONFLICT (kind, scope, token) DO UPDATE SET digest = excluded.digest, answer = excluded.answer,
  expires_at = excluded.expires_at;

-- name: next -- hot
SELECT min(expires_at) FROM tokens;

-- name: sweep -- hot
DELETE FROM tokens WHERE (kind, scope, token) IN (
  SELECT kind, scope, token FROM tokens WHERE expires_at <= :now ORDER BY expires_at LIMIT :limit
);
