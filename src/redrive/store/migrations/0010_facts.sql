-- What a store knows of itself: the secret behind its session tokens, and how often it was opened. No reset forgets these.
CREATE TABLE facts (name TEXT NOT NULL PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
