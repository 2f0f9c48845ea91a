-- A store's facts about itself: the secret of its session tokens, and how often it was opened. A reset keeps them.
CREATE TABLE facts (name TEXT NOT NULL PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
