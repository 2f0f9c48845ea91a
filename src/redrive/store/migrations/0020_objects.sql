-- Versions of the objects of buckets. The row with is_noncurrent = 0 is the current version of its key, which may be a
-- delete marker. age_no is the negative of the version's number, so the newest version of a key comes first. The
-- version of a key that has no version id has is_null = 1.
CREATE TABLE objects (
  bucket_id TEXT NOT NULL, is_noncurrent INTEGER NOT NULL, key BLOB NOT NULL, age_no INTEGER NOT NULL,
  is_null INTEGER NOT NULL, is_marker INTEGER NOT NULL, modified_at INTEGER NOT NULL, size INTEGER NOT NULL,
  document TEXT NOT NULL, body BLOB,
  PRIMARY KEY (bucket_id, is_noncurrent, key, age_no)
);
CREATE INDEX objects_null ON objects (bucket_id, key) WHERE is_noncurrent = 1 AND is_null = 1;
-- It has no rows: it numbers versions and uploads over all buckets of the store.
CREATE TABLE object_numbers (seq INTEGER PRIMARY KEY AUTOINCREMENT);
INSERT INTO sqlite_sequence (name, seq) VALUES ('object_numbers', 0);
-- Multipart uploads that are neither completed nor aborted, and their parts.
CREATE TABLE uploads (
  bucket_id TEXT NOT NULL, key BLOB NOT NULL, number INTEGER NOT NULL, at INTEGER NOT NULL, document TEXT NOT NULL,
  PRIMARY KEY (bucket_id, key, number)
);
CREATE TABLE upload_parts (
  upload INTEGER NOT NULL, part INTEGER NOT NULL, at INTEGER NOT NULL, size INTEGER NOT NULL,
  document TEXT NOT NULL, body BLOB,
  PRIMARY KEY (upload, part)
);
