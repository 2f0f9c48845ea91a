-- name: put
INSERT INTO blobs (digest, content) VALUES (:digest, :content) ON CONFLICT (digest) DO NOTHING;

-- name: get
SELECT content FROM blobs WHERE digest = :digest;

-- name: delete
DELETE FROM blobs WHERE digest = :digest;
