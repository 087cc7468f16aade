-- Places that serve models, each for the person alone who added it.
CREATE TABLE model_providers (
  id         BLOB PRIMARY KEY NOT NULL,
  user_id    BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  slug       TEXT NOT NULL,                      -- stands in front of its models' names and never changes
  name       TEXT NOT NULL,                      -- the person's own
  kind       TEXT NOT NULL,                      -- openai, anthropic, gemini, ollama, compatible
  base_url   TEXT NOT NULL,
  secret     BLOB,                               -- the key, sealed; NULL for a server that wants none
  hint       TEXT,                               -- the last letters of the key, by which its person knows it
  created_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  UNIQUE (user_id, slug)
) STRICT;
