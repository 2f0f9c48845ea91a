-- name: numbers
-- A sequence gives one number at a time, and nobody waits for it.
SELECT nextval('object_numbers_seq_seq');

-- name: begin
-- The number is drawn after the key was reserved, so the numbers of a key grow. One round trip gives both.
SELECT n.seq, o.key, o.is_noncurrent, o.age_no, o.is_null, o.is_marker, o.modified_at, o.size, o.document
FROM (SELECT nextval('object_numbers_seq_seq') AS seq) AS n
LEFT JOIN objects AS o ON o.bucket_id = ? AND o.is_noncurrent = 0 AND o.key = ?;
