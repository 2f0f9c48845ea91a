-- Large bodies of objects. refs counts the objects and parts that have the body; at 0 the body is about to be deleted.
-- place is 'rows' if the bytes are in body_pieces, 'file' if they are in a file beside the store.
CREATE TABLE bodies (
  id text COLLATE "C" NOT NULL PRIMARY KEY, size bigint NOT NULL, refs bigint NOT NULL, place text NOT NULL,
  at bigint NOT NULL
);
CREATE INDEX bodies_unreferenced ON bodies (at) WHERE refs = 0;
CREATE TABLE body_pieces (
  body_id text COLLATE "C" NOT NULL, first bigint NOT NULL, content bytea NOT NULL,
  PRIMARY KEY (body_id, first)
);
