-- name: put
INSERT INTO uploads (bucket_id, key, number, at, document) VALUES (?, ?, ?, ?, ?);

-- name: get
SELECT key, number, at, document FROM uploads WHERE bucket_id = ? AND key = ? AND number = ?;

-- name: delete
DELETE FROM uploads WHERE bucket_id = ? AND key = ? AND number = ?;

-- name: page
SELECT key, number, at, document FROM uploads
WHERE bucket_id = ? AND (key, number) > (?, ?) AND key < ? ORDER BY key, number LIMIT ?;

-- name: put_part
INSERT INTO upload_parts (upload, part, at, size, document, body) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (upload, part) DO UPDATE
SET at = excluded.at, size = excluded.size, document = excluded.document, body = excluded.body;

-- name: get_part
SELECT part, at, size, document FROM upload_parts WHERE upload = ? AND part = ?;

-- name: parts
SELECT part, at, size, document FROM upload_parts WHERE upload = ? AND part > ? ORDER BY part LIMIT ?;

-- name: part_body
SELECT body FROM upload_parts WHERE upload = ? AND part = ?;

-- name: delete_parts
DELETE FROM upload_parts WHERE upload = ?;
