-- Times are microseconds since 1970 (UTC). JSON is TEXT on both databases: PostgreSQL's own JSON types refuse \u0000 and
-- lose the order of keys.

CREATE TABLE users (
  id                   UUID PRIMARY KEY NOT NULL,
  email                TEXT UNIQUE,              -- lower case; NULL for an anonymous person
  password_hash        TEXT,                     -- argon2id, PHC string
  email_confirmed_at   BIGINT,
  confirmation_sent_at BIGINT,
  last_sign_in_at      BIGINT,
  is_anonymous         BOOLEAN NOT NULL,
  user_metadata        TEXT NOT NULL,            -- JSON object, the person's own
  app_metadata         TEXT NOT NULL,            -- JSON object, the server's
  identity_id          UUID NOT NULL,             -- id of the e-mail identity
  created_at           BIGINT NOT NULL,
  updated_at           BIGINT NOT NULL
);

-- One sign-in on one device. A refresh token names the session and a counter; only the newest counter is good.
CREATE TABLE auth_sessions (
  id              UUID PRIMARY KEY NOT NULL,
  user_id         UUID NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  refresh_counter BIGINT NOT NULL,
  refreshed_at    BIGINT NOT NULL,
  aal             TEXT NOT NULL,                 -- aal1 or aal2
  amr             TEXT NOT NULL,                 -- JSON list of {method, timestamp}
  user_agent      TEXT,
  created_at      BIGINT NOT NULL
);
CREATE INDEX auth_sessions_by_user ON auth_sessions (user_id);

-- Keys that sign access tokens. The one with the highest number signs; all of them verify.
CREATE TABLE signing_keys (
  number      BIGINT PRIMARY KEY NOT NULL,
  private_key BYTEA NOT NULL,                   -- a private JWK, encrypted with the master key
  created_at  BIGINT NOT NULL
);

CREATE TABLE mcp_servers (
  id         UUID PRIMARY KEY NOT NULL,
  user_id    UUID NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  name       TEXT NOT NULL,
  url        TEXT NOT NULL,
  tools      TEXT NOT NULL,                      -- JSON list: what was found when the connection was made
  status     TEXT NOT NULL,
  headers    BYTEA,                             -- encrypted JSON object; written, never read back by a client
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  CONSTRAINT mcp_servers_user_id_name_key UNIQUE (user_id, name)
);

CREATE TABLE ai_chat_sessions (
  id         UUID PRIMARY KEY NOT NULL,
  user_id    UUID NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  title      TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL
);
CREATE INDEX ai_chat_sessions_by_user ON ai_chat_sessions (user_id, updated_at);

CREATE TABLE ai_chat_messages (
  id         UUID PRIMARY KEY NOT NULL,
  session_id UUID NOT NULL REFERENCES ai_chat_sessions (id) ON DELETE CASCADE,
  role       TEXT NOT NULL CHECK (role IN ('user', 'assistant')),
  content    TEXT NOT NULL,
  tool_calls TEXT NOT NULL,                      -- JSON list
  parts      TEXT,                               -- JSON list; the assistant's only
  status     TEXT,                               -- done, stopped, failed, interrupted; the assistant's only
  error      TEXT,
  model      TEXT,
  created_at BIGINT NOT NULL
);
CREATE INDEX ai_chat_messages_by_session ON ai_chat_messages (session_id, created_at, id);

-- One turn of the assistant. While it runs, its events stand in run_chunks; at the end they fold into the message.
CREATE TABLE runs (
  id         UUID PRIMARY KEY NOT NULL,
  session_id UUID NOT NULL REFERENCES ai_chat_sessions (id) ON DELETE CASCADE,
  user_id    UUID NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  message_id UUID NOT NULL,                       -- the assistant's message to be
  status     TEXT NOT NULL,                      -- running, done, stopped, failed, interrupted
  model      TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  ended_at   BIGINT
);
CREATE UNIQUE INDEX runs_one_at_a_time ON runs (session_id) WHERE status = 'running';

CREATE TABLE run_chunks (
  run_id  UUID NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  seq     BIGINT NOT NULL,                         -- number of the last event in the chunk
  payload TEXT NOT NULL,                         -- the events, one JSON object a line
  PRIMARY KEY (run_id, seq)
);

-- A person's authorisation at another service.
CREATE TABLE credentials (
  user_id    UUID NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  provider   TEXT NOT NULL,
  secret     BYTEA NOT NULL,                    -- encrypted JSON
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (user_id, provider)
);

-- An authorisation under way: used once, by the person who began it, soon.
CREATE TABLE authorizations (
  state      TEXT PRIMARY KEY NOT NULL,
  user_id    UUID NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  provider   TEXT NOT NULL,
  secret     BYTEA NOT NULL,                    -- encrypted JSON
  expires_at BIGINT NOT NULL
);
