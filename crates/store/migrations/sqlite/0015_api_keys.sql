-- Keys with which programs ask in a person's name.
CREATE TABLE api_keys (
  id           BLOB PRIMARY KEY NOT NULL,
  user_id      BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  name         TEXT NOT NULL,                    -- the person's own
  hint         TEXT NOT NULL,                    -- the last letters of the key, by which its person knows it
  hash         BLOB NOT NULL UNIQUE,             -- SHA-256: the key itself is random
  scopes       TEXT NOT NULL,                    -- words with a space between: chat, tools
  created_at   INTEGER NOT NULL,
  last_used_at INTEGER                           -- exact to a minute
) STRICT;
CREATE INDEX api_keys_by_user ON api_keys (user_id);
