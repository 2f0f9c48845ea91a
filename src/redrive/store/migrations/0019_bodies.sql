-- Large bodies of objects. refs counts the objects and parts that have the body; at 0 the body is about to be deleted.
-- place is 'rows' if the bytes are in body_pieces, 'file' if they are in a file beside the store.
CREATE TABLE bodies (
  id TEXT NOT NULL PRIMARY KEY, size INTEGER NOT NULL, refs INTEGER NOT NULL, place TEXT NOT NULL, at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX bodies_unreferenced ON bodies (at) WHERE refs = 0;
CREATE TABLE body_pieces (
  body_id TEXT NOT NULL, first INTEGER NOT NULL, content BLOB NOT NULL,
  PRIMARY KEY (body_id, first)
);
