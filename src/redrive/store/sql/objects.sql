-- name: numbers
UPDATE sqlite_sequence SET seq = seq + 1024 WHERE name = 'object_numbers' RETURNING seq;

-- name: begin
SELECT n.seq, o.key, o.is_noncurrent, o.age_no, o.is_null, o.is_marker, o.modified_at, o.size, o.document
FROM (SELECT seq FROM sqlite_sequence WHERE name = 'object_numbers') AS n
LEFT JOIN objects AS o ON o.bucket_id = ? AND o.is_noncurrent = 0 AND o.key = ?;

-- name: current -- hot
SELECT key, is_noncurrent, age_no, is_null, is_marker, modified_at, size, document
FROM objects WHERE bucket_id = ? AND is_noncurrent = 0 AND key = ?;

-- name: read -- hot
SELECT key, is_noncurrent, age_no, is_null, is_marker, modified_at, size, document, body
FROM objects WHERE bucket_id = ? AND is_noncurrent = 0 AND key = ?;

-- name: read_version
SELECT key, is_noncurrent, age_no, is_null, is_marker, modified_at, size, document, body
FROM objects WHERE bucket_id = ? AND is_noncurrent = ? AND key = ? AND age_no = ? AND is_null = 0;

-- name: read_null
SELECT key, is_noncurrent, age_no, is_null, is_marker, modified_at, size, document, body
FROM objects WHERE bucket_id = ? AND is_noncurrent = 1 AND key = ? AND is_null = 1;

-- name: newest_noncurrent
SELECT key, is_noncurrent, age_no, is_null, is_marker, modified_at, size, document
FROM objects WHERE bucket_id = ? AND is_noncurrent = 1 AND key = ? ORDER BY age_no LIMIT 1;

-- name: put -- hot
INSERT INTO objects
  (bucket_id, is_noncurrent, key, age_no, is_null, is_marker, modified_at, size, document, body)
VALUES (?, 0, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: replace -- hot
UPDATE objects SET age_no = ?, is_null = ?, is_marker = ?, modified_at = ?, size = ?, document = ?, body = ?
WHERE bucket_id = ? AND is_noncurrent = 0 AND key = ? AND age_no = ?;

-- name: move
UPDATE objects SET is_noncurrent = ? WHERE bucket_id = ? AND is_noncurrent = ? AND key = ? AND age_no = ?;

-- name: set_document
UPDATE objects SET document = ? WHERE bucket_id = ? AND is_noncurrent = ? AND key = ? AND age_no = ?;

-- name: delete -- hot
DELETE FROM objects WHERE bucket_id = ? AND is_noncurrent = ? AND key = ? AND age_no = ?;

-- name: page -- hot
SELECT key, is_noncurrent, age_no, is_null, is_marker, modified_at, size, document
FROM objects WHERE bucket_id = ? AND is_noncurrent = ? AND (key, age_no) > (?, ?) AND key < ?
ORDER BY key, age_no LIMIT ?;

-- name: any_row
SELECT 1 FROM objects WHERE bucket_id = ? LIMIT 1;

-- name: first_rows
SELECT key, is_noncurrent, age_no, is_null, is_marker, modified_at, size, document
FROM objects WHERE bucket_id = ? ORDER BY is_noncurrent, key, age_no LIMIT ?;
