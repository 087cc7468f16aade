-- What models cost: a row for each call of a model. It stays when its chat is deleted, without what was said.
CREATE TABLE model_usage (
  id                  BLOB PRIMARY KEY NOT NULL,
  user_id             BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  session_id          BLOB,                      -- NULL for questions of other programs
  message_id          BLOB,                      -- the answer it was part of; NULL likewise
  model               TEXT NOT NULL,             -- provider/name
  input_tokens        INTEGER NOT NULL,
  output_tokens       INTEGER NOT NULL,
  cached_input_tokens INTEGER NOT NULL,          -- of the tokens read
  is_estimate         INTEGER NOT NULL,          -- 1 where the provider did not tell all of it
  created_at          INTEGER NOT NULL
) STRICT;
CREATE INDEX model_usage_by_user ON model_usage (user_id, created_at);
CREATE INDEX model_usage_by_session ON model_usage (session_id);
