-- Times are microseconds since 1970 (UTC). JSON is TEXT on both databases: PostgreSQL's own JSON types refuse \u0000 and
-- lose the order of keys.

CREATE TABLE users (
  id                   BLOB PRIMARY KEY NOT NULL,
  email                TEXT UNIQUE,              -- lower case; NULL for an anonymous person
  password_hash        TEXT,                     -- argon2id, PHC string
  email_confirmed_at   INTEGER,
  confirmation_sent_at INTEGER,
  last_sign_in_at      INTEGER,
  is_anonymous         INTEGER NOT NULL,
  user_metadata        TEXT NOT NULL,            -- JSON object, the person's own
  app_metadata         TEXT NOT NULL,            -- JSON object, the server's
  identity_id          BLOB NOT NULL,             -- id of the e-mail identity
  created_at           INTEGER NOT NULL,
  updated_at           INTEGER NOT NULL
) STRICT;

-- One sign-in on one device. A refresh token names the session and a counter; only the newest counter is good.
CREATE TABLE auth_sessions (
  id              BLOB PRIMARY KEY NOT NULL,
  user_id         BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  refresh_counter INTEGER NOT NULL,
  refreshed_at    INTEGER NOT NULL,
  aal             TEXT NOT NULL,                 -- aal1 or aal2
  amr             TEXT NOT NULL,                 -- JSON list of {method, timestamp}
  user_agent      TEXT,
  created_at      INTEGER NOT NULL
) STRICT;
CREATE INDEX auth_sessions_by_user ON auth_sessions (user_id);

-- Keys that sign access tokens. The one with the highest number signs; all of them verify.
CREATE TABLE signing_keys (
  number      INTEGER PRIMARY KEY NOT NULL,
  private_key BLOB NOT NULL,                   -- a private JWK, encrypted with the master key
  created_at  INTEGER NOT NULL
) STRICT;

CREATE TABLE mcp_servers (
  id         BLOB PRIMARY KEY NOT NULL,
  user_id    BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  name       TEXT NOT NULL,
  url        TEXT NOT NULL,
  tools      TEXT NOT NULL,                      -- JSON list: what was found when the connection was made
  status     TEXT NOT NULL,
  headers    BLOB,                             -- encrypted JSON object; written, never read back by a client
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  CONSTRAINT mcp_servers_user_id_name_key UNIQUE (user_id, name)
) STRICT;

CREATE TABLE ai_chat_sessions (
  id         BLOB PRIMARY KEY NOT NULL,
  user_id    BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  title      TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX ai_chat_sessions_by_user ON ai_chat_sessions (user_id, updated_at);

CREATE TABLE ai_chat_messages (
  id         BLOB PRIMARY KEY NOT NULL,
  session_id BLOB NOT NULL REFERENCES ai_chat_sessions (id) ON DELETE CASCADE,
  role       TEXT NOT NULL CHECK (role IN ('user', 'assistant')),
  content    TEXT NOT NULL,
  tool_calls TEXT NOT NULL,                      -- JSON list
  parts      TEXT,                               -- JSON list; the assistant's only
  status     TEXT,                               -- done, stopped, failed, interrupted; the assistant's only
  error      TEXT,
  model      TEXT,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX ai_chat_messages_by_session ON ai_chat_messages (session_id, created_at, id);

-- One turn of the assistant. While it runs, its events stand in run_chunks; at the end they fold into the message.
CREATE TABLE runs (
  id         BLOB PRIMARY KEY NOT NULL,
  session_id BLOB NOT NULL REFERENCES ai_chat_sessions (id) ON DELETE CASCADE,
  user_id    BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  message_id BLOB NOT NULL,                       -- the assistant's message to be
  status     TEXT NOT NULL,                      -- running, done, stopped, failed, interrupted
  model      TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  ended_at   INTEGER
) STRICT;
CREATE UNIQUE INDEX runs_one_at_a_time ON runs (session_id) WHERE status = 'running';

CREATE TABLE run_chunks (
  run_id  BLOB NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  seq     INTEGER NOT NULL,                         -- number of the last event in the chunk
  payload TEXT NOT NULL,                         -- the events, one JSON object a line
  PRIMARY KEY (run_id, seq)
) STRICT;

-- A person's authorisation at another service.
CREATE TABLE credentials (
  user_id    BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  provider   TEXT NOT NULL,
  secret     BLOB NOT NULL,                    -- encrypted JSON
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (user_id, provider)
) STRICT;

-- An authorisation under way: used once, by the person who began it, soon.
CREATE TABLE authorizations (
  state      TEXT PRIMARY KEY NOT NULL,
  user_id    BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  provider   TEXT NOT NULL,
  secret     BLOB NOT NULL,                    -- encrypted JSON
  expires_at INTEGER NOT NULL
) STRICT;
