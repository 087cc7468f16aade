-- Which model answers in a chat; NULL for the one that answers where nobody chose.
ALTER TABLE chat_marks ADD COLUMN model TEXT;

-- Models that a person wants at hand.
CREATE TABLE model_favourites (
  user_id    BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  model      TEXT NOT NULL,                      -- provider/name
  created_at INTEGER NOT NULL,
  PRIMARY KEY (user_id, model)
) STRICT;
