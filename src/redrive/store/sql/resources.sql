-- name: get
SELECT document FROM resources WHERE kind = ? AND scope = ? AND name = ?;

-- name: put
INSERT INTO resources (kind, scope, name, document, version) VALUES (?, ?, ?, ?, 1)
ON CONFLICT (kind, scope, name) DO UPDATE SET document = excluded.document, version = resources.version + 1;

-- name: delete
DELETE FROM resources WHERE kind = ? AND scope = ? AND name = ?;

-- name: page
SELECT name, document FROM resources
WHERE kind = :kind AND scope = :scope AND name > :after AND name >= :prefix AND name < :prefix_end
ORDER BY name LIMIT :limit;

-- name: everywhere
SELECT scope, name, document FROM resources WHERE kind = :kind ORDER BY scope, name;

-- name: count
SELECT count(*) FROM resources WHERE kind = :kind AND scope = :scope AND name >= :prefix AND name < :prefix_end;
