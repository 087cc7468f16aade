-- Keys with which programs ask in a person's name.
CREATE TABLE api_keys (
  id           UUID PRIMARY KEY NOT NULL,
  user_id      UUID NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  name         TEXT NOT NULL,                    -- the person's own
  hint         TEXT NOT NULL,                    -- the last letters of the key, by which its person knows it
  hash         BYTEA NOT NULL UNIQUE,            -- SHA-256: the key itself is random
  scopes       TEXT NOT NULL,                    -- words with a space between: chat, tools
  created_at   BIGINT NOT NULL,
  last_used_at BIGINT                            -- exact to a minute
);
CREATE INDEX api_keys_by_user ON api_keys (user_id);
