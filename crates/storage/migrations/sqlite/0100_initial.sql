-- The whole schema. Times are microseconds since 1970 (UTC). JSON is TEXT on both databases: PostgreSQL's own JSON types
-- reject \u0000 and lose the order of keys.

-- Accounts

CREATE TABLE users (
  id                       BLOB PRIMARY KEY NOT NULL,
  email                    TEXT UNIQUE,           -- lower case; NULL for an anonymous user
  password_hash            TEXT,                  -- argon2id, PHC string
  email_confirmed_at       INTEGER,
  confirmation_sent_at     INTEGER,
  recovery_sent_at         INTEGER,
  new_email                TEXT,                  -- lower case; waits for its confirmation
  email_change_sent_at     INTEGER,
  email_change_confirmed   TEXT,                  -- the half that is confirmed: current or new
  reauthentication_sent_at INTEGER,
  invited_at               INTEGER,
  banned_until             INTEGER,
  last_sign_in_at          INTEGER,
  is_anonymous             INTEGER NOT NULL,
  user_metadata            TEXT NOT NULL,         -- JSON object, the user's own
  app_metadata             TEXT NOT NULL,         -- JSON object, the server's
  identity_id              BLOB NOT NULL,         -- id of the email identity
  created_at               INTEGER NOT NULL,
  updated_at               INTEGER NOT NULL,
  deleted_at               INTEGER                -- when an administrator anonymized the account, whose row and id remain
) STRICT;
CREATE INDEX users_by_age ON users (created_at, id);

-- Sessions. A refresh token names the session and a counter; only the newest counter is valid.
CREATE TABLE auth_sessions (
  id              BLOB PRIMARY KEY NOT NULL,
  user_id         BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  refresh_counter INTEGER NOT NULL,
  refreshed_at    INTEGER NOT NULL,
  confirmed_at    INTEGER NOT NULL DEFAULT 0,     -- first use of the newest tokens, after which older ones are rejected
  used_at         INTEGER NOT NULL DEFAULT 0,     -- exact to five minutes
  aal             TEXT NOT NULL,                  -- aal1 or aal2
  amr             TEXT NOT NULL,                  -- JSON list of {method, timestamp}
  factor_id       BLOB,                           -- the factor that raised it to aal2
  user_agent      TEXT,
  created_at      INTEGER NOT NULL
) STRICT;
CREATE INDEX auth_sessions_by_user ON auth_sessions (user_id);

-- Keys that sign access tokens. The one with the highest number signs; all of them verify.
CREATE TABLE signing_keys (
  number      INTEGER PRIMARY KEY NOT NULL,
  private_key BLOB NOT NULL,                      -- a private JWK, encrypted with the master key
  created_at  INTEGER NOT NULL
) STRICT;

-- Links and codes that were mailed to prove an email address. One of each kind per user.
CREATE TABLE one_time_tokens (
  id               BLOB PRIMARY KEY NOT NULL,
  user_id          BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  kind             TEXT NOT NULL,                 -- confirmation, recovery, reauthentication, email_change_current or _new
  email            TEXT NOT NULL,                 -- recipient
  link_hash        BLOB UNIQUE,                   -- SHA-256
  code_hash        BLOB NOT NULL,                 -- HMAC-SHA-256 with a key that is stored elsewhere
  attempts         INTEGER NOT NULL,              -- number of codes that were tried
  challenge        TEXT,                          -- PKCE
  challenge_method TEXT,                          -- s256 or plain
  -- Mailed for the latest sign-up of the account. Confirming an address with another token drops the password and the
  -- metadata of that sign-up, which somebody else may have chosen.
  from_sign_up     INTEGER NOT NULL DEFAULT 0,
  expires_at       INTEGER NOT NULL,
  CONSTRAINT one_time_tokens_user_id_kind_key UNIQUE (user_id, kind)
) STRICT;
CREATE INDEX one_time_tokens_by_email ON one_time_tokens (email);

-- Confirmed links whose sign-in waits for the client that began it to present its verifier (RFC 7636).
CREATE TABLE auth_codes (
  code_hash        BLOB PRIMARY KEY NOT NULL,     -- SHA-256
  user_id          BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  method           TEXT NOT NULL,                 -- for the access token's amr
  challenge        TEXT NOT NULL,
  challenge_method TEXT NOT NULL,                 -- s256 or plain
  expires_at       INTEGER NOT NULL
) STRICT;
CREATE INDEX auth_codes_by_user ON auth_codes (user_id);

-- Second factors: authenticator apps (TOTP, RFC 6238).
CREATE TABLE mfa_factors (
  id                 BLOB PRIMARY KEY NOT NULL,
  user_id            BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  friendly_name      TEXT NOT NULL,
  status             TEXT NOT NULL,               -- unverified or verified
  secret             BLOB NOT NULL,               -- encrypted
  last_step          INTEGER NOT NULL,            -- newest time step whose code was used; earlier ones are rejected
  last_challenged_at INTEGER,
  created_at         INTEGER NOT NULL,
  updated_at         INTEGER NOT NULL,
  CONSTRAINT mfa_factors_user_id_friendly_name_key UNIQUE (user_id, friendly_name)
) STRICT;

CREATE TABLE mfa_challenges (
  id          BLOB PRIMARY KEY NOT NULL,
  factor_id   BLOB NOT NULL REFERENCES mfa_factors (id) ON DELETE CASCADE,
  address     TEXT NOT NULL,                      -- IP address of the caller
  verified_at INTEGER,
  created_at  INTEGER NOT NULL
) STRICT;
CREATE INDEX mfa_challenges_by_factor ON mfa_challenges (factor_id);

-- Keys of API clients.
CREATE TABLE api_keys (
  id           BLOB PRIMARY KEY NOT NULL,
  user_id      BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  name         TEXT NOT NULL,                     -- given by the user
  hint         TEXT NOT NULL,                     -- the last characters of the key
  hash         BLOB NOT NULL UNIQUE,              -- SHA-256: the key itself is random
  scopes       TEXT NOT NULL,                     -- separated by spaces: chat, tools
  created_at   INTEGER NOT NULL,
  last_used_at INTEGER,                           -- exact to a minute
  expires_at   INTEGER                            -- NULL: valid until it is revoked
) STRICT;
CREATE INDEX api_keys_by_user ON api_keys (user_id);

-- Connections

CREATE TABLE mcp_servers (
  id             BLOB PRIMARY KEY NOT NULL,
  user_id        BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  name           TEXT NOT NULL,
  url            TEXT NOT NULL,                   -- with *** for the values of its query
  url_query      BLOB,                            -- encrypted; NULL where the URL has no query
  tools          TEXT NOT NULL,                   -- JSON list: found when the connection was made
  disabled_tools TEXT NOT NULL DEFAULT '[]',      -- JSON list of names that the user switched off
  status         TEXT NOT NULL,
  headers        BLOB,                            -- encrypted JSON object; never returned to a client
  created_at     INTEGER NOT NULL,
  updated_at     INTEGER NOT NULL,
  CONSTRAINT mcp_servers_user_id_name_key UNIQUE (user_id, name)
) STRICT;

-- The last tool list of each connection, for the time after a start and while the server is unavailable.
CREATE TABLE tool_lists (
  server_id   BLOB PRIMARY KEY NOT NULL REFERENCES mcp_servers (id) ON DELETE CASCADE,
  user_id     BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  url         TEXT NOT NULL,                      -- of the server at that time
  tools       TEXT NOT NULL,                      -- JSON list of definitions
  server_info TEXT,                               -- JSON object
  listed_at   INTEGER NOT NULL
) STRICT;
CREATE INDEX tool_lists_by_user ON tool_lists (user_id);

-- A user's rule for a tool. "always" holds for the definition and the URL that the user saw, and for no other.
CREATE TABLE tool_permissions (
  server_id       BLOB NOT NULL REFERENCES mcp_servers (id) ON DELETE CASCADE,
  tool            TEXT NOT NULL,
  user_id         BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  permission      TEXT NOT NULL,                  -- ask, always, never
  url             TEXT NOT NULL,                  -- of the server at that time
  definition_hash TEXT,                           -- SHA-256 of the definition, hexadecimal; of "always" only
  definition      TEXT,                           -- canonical JSON; of "always" only
  updated_at      INTEGER NOT NULL,
  PRIMARY KEY (server_id, tool)
) STRICT;
CREATE INDEX tool_permissions_by_user ON tool_permissions (user_id);

-- The instructions of a server when one of its tools was allowed for good. Once they change, its tools ask again.
CREATE TABLE server_instructions (
  server_id    BLOB PRIMARY KEY NOT NULL REFERENCES mcp_servers (id) ON DELETE CASCADE,
  user_id      BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  hash         TEXT NOT NULL,                     -- SHA-256 of the instructions, hexadecimal
  instructions TEXT NOT NULL,                     -- empty if the server gave none
  updated_at   INTEGER NOT NULL
) STRICT;

-- Credentials of a connection from its authorization server. They outlive the connection until they are revoked, so that
-- nothing here refers to mcp_servers.
CREATE TABLE server_credentials (
  user_id   BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  server_id BLOB NOT NULL,
  issuer    TEXT NOT NULL,                        -- of the authorization server
  secret    BLOB NOT NULL,                        -- encrypted JSON
  seq       INTEGER NOT NULL,                     -- the highest of a connection was stored last
  PRIMARY KEY (user_id, server_id, issuer)
) STRICT;

-- Clients that users registered at an authorization server themselves.
CREATE TABLE server_clients (
  user_id   BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  server_id BLOB NOT NULL,
  secret    BLOB NOT NULL,                        -- encrypted JSON
  PRIMARY KEY (user_id, server_id)
) STRICT;

-- Locks on the credentials of a connection.
CREATE TABLE server_locks (
  user_id    BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  server_id  BLOB NOT NULL,
  owner      BLOB NOT NULL,
  expires_at INTEGER NOT NULL,                    -- void from then on
  PRIMARY KEY (user_id, server_id)
) STRICT;

-- A user's authorization at another service.
CREATE TABLE credentials (
  user_id    BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  provider   TEXT NOT NULL,
  secret     BLOB NOT NULL,                       -- encrypted JSON
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (user_id, provider)
) STRICT;

-- Authorizations in progress: used once, by the user who began them, soon.
CREATE TABLE authorizations (
  state      TEXT PRIMARY KEY NOT NULL,
  user_id    BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  provider   TEXT NOT NULL,
  secret     BLOB NOT NULL,                       -- encrypted JSON
  expires_at INTEGER NOT NULL
) STRICT;

-- Chats

CREATE TABLE ai_chat_sessions (
  id         BLOB PRIMARY KEY NOT NULL,
  user_id    BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  title      TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  deleted_at INTEGER                             -- NULL: not deleted. Others can be restored for a while
) STRICT;
CREATE INDEX ai_chat_sessions_by_user ON ai_chat_sessions (user_id, updated_at);
CREATE INDEX ai_chat_sessions_deleted ON ai_chat_sessions (deleted_at) WHERE deleted_at IS NOT NULL;

-- Chats that are not deleted. Statements read chats here, and messages in a join with it.
CREATE VIEW existing_chats AS
  SELECT id, user_id, title, created_at, updated_at FROM ai_chat_sessions WHERE deleted_at IS NULL;

-- Messages of the active branch follow each other in time. Messages of inactive branches name their predecessor.
CREATE TABLE ai_chat_messages (
  id             BLOB PRIMARY KEY NOT NULL,
  session_id     BLOB NOT NULL REFERENCES ai_chat_sessions (id) ON DELETE CASCADE,
  role           TEXT NOT NULL CHECK (role IN ('user', 'assistant')),
  content        TEXT NOT NULL,
  tool_calls     TEXT NOT NULL,                   -- JSON list
  parts          TEXT,                            -- JSON list
  status         TEXT,                            -- done, stopped, failed, interrupted; of assistant messages only
  error          TEXT,
  model          TEXT,
  created_at     INTEGER NOT NULL,
  parent_id      BLOB,                            -- NULL: the first message, or on the active branch
  inactive_since INTEGER                          -- NULL: on the active branch
) STRICT;
CREATE INDEX ai_chat_messages_by_session ON ai_chat_messages (session_id, created_at, id);

-- Settings of chats. Nothing here refers to ai_chat_sessions: a restored chat has its settings again.
CREATE TABLE chat_settings (
  user_id     BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  session_id  BLOB NOT NULL,
  pinned_at   INTEGER,
  archived_at INTEGER,
  model       TEXT,                               -- provider/name; NULL: the default
  settings    TEXT,                               -- JSON for the model; NULL: the default
  PRIMARY KEY (user_id, session_id)
) STRICT;

-- Messages that were sent during a turn. They are sent one after the other when it has ended.
CREATE TABLE queued_messages (
  id         BLOB PRIMARY KEY NOT NULL,
  session_id BLOB NOT NULL REFERENCES ai_chat_sessions (id) ON DELETE CASCADE ON UPDATE CASCADE,
  user_id    BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  content    TEXT NOT NULL,
  parts      TEXT NOT NULL,                       -- JSON list: attachments and files
  tools      TEXT NOT NULL,                       -- JSON list of {name, serverName, serverId}
  position   INTEGER NOT NULL                     -- the lowest is sent first
) STRICT;
CREATE INDEX queued_messages_by_session ON queued_messages (session_id, position, id);

-- Snapshots of shared chats. A share works while its chat exists.
CREATE TABLE chat_shares (
  id         BLOB PRIMARY KEY NOT NULL,
  token_hash BLOB NOT NULL UNIQUE,                -- SHA-256
  user_id    BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  session_id BLOB NOT NULL,
  title      TEXT NOT NULL,
  messages   TEXT NOT NULL,                       -- JSON list
  count      INTEGER NOT NULL,                    -- of the messages
  tools      INTEGER NOT NULL,                    -- whether it includes arguments and results of tool calls
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX chat_shares_by_user ON chat_shares (user_id, id);

-- Attachments of messages that are not sent yet. With the message they become parts of it.
CREATE TABLE attachments (
  id         BLOB PRIMARY KEY NOT NULL,
  user_id    BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  attachment TEXT NOT NULL,                       -- JSON
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX attachments_by_user ON attachments (user_id, created_at);

-- Turns

-- While a turn runs, its events are in turn_journal. At its end they become the assistant message.
CREATE TABLE turns (
  id         BLOB PRIMARY KEY NOT NULL,
  session_id BLOB NOT NULL REFERENCES ai_chat_sessions (id) ON DELETE CASCADE,
  user_id    BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  message_id BLOB NOT NULL,                       -- of the assistant message
  status     TEXT NOT NULL,                       -- running, done, stopped, failed, interrupted
  model      TEXT NOT NULL,
  tools      TEXT NOT NULL DEFAULT '[]',          -- JSON list of {name, serverName} that it may use
  node_id    BLOB,                                -- the node that runs it; NULL: none
  is_waiting INTEGER NOT NULL DEFAULT 0,          -- waits for its user
  created_at INTEGER NOT NULL,
  ended_at   INTEGER
) STRICT;
CREATE UNIQUE INDEX turns_one_at_a_time ON turns (session_id) WHERE status = 'running';
CREATE INDEX turns_running ON turns (user_id) WHERE status = 'running';

CREATE TABLE turn_journal (
  turn_id BLOB NOT NULL REFERENCES turns (id) ON DELETE CASCADE,
  seq     INTEGER NOT NULL,                       -- number of the last event in the batch
  payload TEXT NOT NULL,                          -- events, one JSON object per line
  PRIMARY KEY (turn_id, seq)
) STRICT;

-- Commands to turns that may run on another node. They remain until the turn ends.
CREATE TABLE turn_commands (
  turn_id BLOB NOT NULL REFERENCES turns (id) ON DELETE CASCADE,
  command TEXT NOT NULL,                          -- stop, refresh, preempt, or cancel and the id of a call
  PRIMARY KEY (turn_id, command)
) STRICT;

-- Approvals, elicitations and sign-ins that tool calls wait for.
CREATE TABLE interactions (
  id           BLOB PRIMARY KEY NOT NULL,
  turn_id      BLOB NOT NULL REFERENCES turns (id) ON DELETE CASCADE,
  user_id      BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  tool_call_id TEXT NOT NULL,
  kind         TEXT NOT NULL,                     -- approval, elicitation, sign-in
  server_id    BLOB,                              -- this and the next four: of approvals
  tool         TEXT,
  url          TEXT,
  definition   TEXT,                              -- canonical JSON, as shown to the user
  instructions TEXT,                              -- of the server at that time
  resume_state BLOB,                              -- encrypted JSON: where the call resumes; until its turn has ended
  response     TEXT,                              -- approvals: once, always, deny; others: accept, decline, cancel; NULL: pending
  arguments    TEXT,                              -- JSON object, if the user changed those of an approval
  content      BLOB,                              -- encrypted JSON object: the answer; until its turn has ended
  created_at   INTEGER NOT NULL,
  responded_at INTEGER
) STRICT;
CREATE INDEX interactions_by_turn ON interactions (turn_id);

-- Tool calls that run as MCP tasks, with what is needed to resume them after a restart.
CREATE TABLE tool_tasks (
  turn_id      BLOB NOT NULL REFERENCES turns (id) ON DELETE CASCADE,
  tool_call_id TEXT NOT NULL,
  user_id      BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  server_id    BLOB NOT NULL,
  url          TEXT NOT NULL,                     -- of the server at the beginning
  allowed_by   TEXT NOT NULL,                     -- as in tool_audit
  task         TEXT NOT NULL,                     -- the server's id of the task
  form         TEXT NOT NULL,                     -- core, extension
  ttl_ms       INTEGER,                           -- lifetime of the task at the server; NULL: unlimited
  created_at   INTEGER NOT NULL,
  PRIMARY KEY (turn_id, tool_call_id)
) STRICT;

-- All tool calls.
CREATE TABLE tool_audit (
  id          BLOB PRIMARY KEY NOT NULL,
  user_id     BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  server_name TEXT NOT NULL,
  tool        TEXT NOT NULL,
  allowed_by  TEXT NOT NULL,                      -- default, rule, once, always, form; nobody
  outcome     TEXT NOT NULL,
  created_at  INTEGER NOT NULL
) STRICT;
CREATE INDEX tool_audit_by_user ON tool_audit (user_id, id);

-- Nodes: processes on this database. Each increments its heartbeat. A node whose heartbeat stops is removed by another one,
-- which takes over its turns. Clocks of different nodes are never compared.
CREATE TABLE nodes (
  id        BLOB PRIMARY KEY NOT NULL,
  heartbeat INTEGER NOT NULL
) STRICT;

-- Messages between nodes that are too long for a notification. They remain for a minute.
CREATE TABLE node_messages (
  id         BLOB PRIMARY KEY NOT NULL,
  text       TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX node_messages_by_age ON node_messages (created_at);

-- Models

-- Usage, a row per call of a model. It remains when its chat is deleted, without any text.
CREATE TABLE model_usage (
  id                  BLOB PRIMARY KEY NOT NULL,
  user_id             BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  session_id          BLOB,                       -- NULL: a call of an API client
  message_id          BLOB,                       -- the assistant message; NULL likewise
  model               TEXT NOT NULL,              -- provider/name
  input_tokens        INTEGER NOT NULL,
  output_tokens       INTEGER NOT NULL,
  cached_input_tokens INTEGER NOT NULL,           -- of the input tokens
  is_estimate         INTEGER NOT NULL,           -- 1 if the provider did not report all of it
  cost_nanos          INTEGER,                    -- billionths of a US dollar at the price of that day; NULL: unknown
  created_at          INTEGER NOT NULL
) STRICT;
CREATE INDEX model_usage_by_user ON model_usage (user_id, created_at);
CREATE INDEX model_usage_by_session ON model_usage (session_id);

-- Users' favorite models.
CREATE TABLE model_favourites (
  user_id    BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  model      TEXT NOT NULL,                       -- provider/name
  created_at INTEGER NOT NULL,
  PRIMARY KEY (user_id, model)
) STRICT;

-- Users' defaults for chats without settings of their own.
CREATE TABLE model_defaults (
  user_id  BLOB PRIMARY KEY NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  model    TEXT,                                  -- provider/name; NULL: the default of the server
  settings TEXT NOT NULL                          -- JSON
) STRICT;

-- Users' own model providers.
CREATE TABLE model_providers (
  id         BLOB PRIMARY KEY NOT NULL,
  user_id    BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  slug       TEXT NOT NULL,                       -- precedes the names of its models and never changes
  name       TEXT NOT NULL,                       -- given by the user
  kind       TEXT NOT NULL,                       -- openai, anthropic, gemini, ollama, compatible
  base_url   TEXT NOT NULL,
  secret     BLOB,                                -- the encrypted key; NULL if the provider needs none
  hint       TEXT,                                -- the last characters of the key
  created_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  UNIQUE (user_id, slug)
) STRICT;

-- Files

-- Files of users, tool calls and models, beside the chats.
CREATE TABLE files (
  id             BLOB PRIMARY KEY NOT NULL,
  user_id        BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  session_id     BLOB,                            -- NULL: waits for its message. No reference: a chat may be restored
  media_type     TEXT NOT NULL,
  name           TEXT,
  size           INTEGER NOT NULL,                -- bytes
  maybe_orphaned INTEGER NOT NULL,                -- something that referred to it was deleted
  created_at     INTEGER NOT NULL
) STRICT;
CREATE INDEX files_by_user ON files (user_id, size);
CREATE INDEX files_by_session ON files (session_id);
CREATE INDEX files_waiting ON files (created_at) WHERE session_id IS NULL;
CREATE INDEX files_maybe_orphaned ON files (id) WHERE maybe_orphaned;

-- Apart from the row, which is read and changed often.
CREATE TABLE file_bytes (
  file_id BLOB PRIMARY KEY NOT NULL REFERENCES files (id) ON DELETE CASCADE,
  bytes   BLOB NOT NULL
) STRICT;

-- What refers to a file: a message, a queued message or a share. A deleted message may be restored.
CREATE TABLE file_uses (
  holder_id BLOB NOT NULL,
  file_id   BLOB NOT NULL REFERENCES files (id) ON DELETE CASCADE,
  PRIMARY KEY (holder_id, file_id)
) STRICT;
CREATE INDEX file_uses_by_file ON file_uses (file_id);

CREATE TRIGGER file_message_deleted AFTER DELETE ON ai_chat_messages BEGIN
  UPDATE files SET maybe_orphaned = 1 WHERE id IN (SELECT file_id FROM file_uses WHERE holder_id = OLD.id);
END;
CREATE TRIGGER file_message_renamed AFTER UPDATE OF id ON ai_chat_messages WHEN OLD.id IS NOT NEW.id BEGIN
  UPDATE file_uses SET holder_id = NEW.id WHERE holder_id = OLD.id;
END;
CREATE TRIGGER file_queued_deleted AFTER DELETE ON queued_messages BEGIN
  UPDATE files SET maybe_orphaned = 1 WHERE id IN (SELECT file_id FROM file_uses WHERE holder_id = OLD.id);
  DELETE FROM file_uses WHERE holder_id = OLD.id;
END;
CREATE TRIGGER file_share_deleted AFTER DELETE ON chat_shares BEGIN
  UPDATE files SET maybe_orphaned = 1 WHERE id IN (SELECT file_id FROM file_uses WHERE holder_id = OLD.id);
  DELETE FROM file_uses WHERE holder_id = OLD.id;
END;
-- Files of a turn whose answer was never stored.
CREATE TRIGGER file_session_deleted AFTER DELETE ON ai_chat_sessions BEGIN
  UPDATE files SET maybe_orphaned = 1 WHERE session_id = OLD.id;
END;

-- Search

-- Texts that can be searched: titles and messages. Triggers mark changed ones as pending; the program indexes these.
CREATE TABLE search_entries (
  seq        INTEGER PRIMARY KEY NOT NULL,       -- later entries have higher ones
  id         BLOB NOT NULL,                      -- of the message, or of the chat for its title
  is_title   INTEGER NOT NULL,                   -- 0 or 1
  session_id BLOB NOT NULL REFERENCES ai_chat_sessions (id) ON DELETE CASCADE ON UPDATE CASCADE,
  user_id    BLOB NOT NULL,
  pending    INTEGER NOT NULL,                   -- 0 or 1
  CONSTRAINT search_entries_id_key UNIQUE (id, is_title)
) STRICT;
CREATE INDEX search_entries_by_user ON search_entries (user_id, is_title, seq);
CREATE INDEX search_entries_by_session ON search_entries (session_id);
CREATE INDEX search_entries_pending ON search_entries (user_id, seq) WHERE pending;
CREATE INDEX search_entries_pending_of_all ON search_entries (seq) WHERE pending;

-- The words, by the entry's seq, each with a key of its owner.
CREATE VIRTUAL TABLE search_words USING fts5 (words, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii');

CREATE TRIGGER search_entry_deleted AFTER DELETE ON search_entries BEGIN
  DELETE FROM search_words WHERE rowid = OLD.seq;
END;

CREATE TRIGGER search_title_inserted AFTER INSERT ON ai_chat_sessions BEGIN
  INSERT INTO search_entries (id, is_title, session_id, user_id, pending) VALUES (NEW.id, 1, NEW.id, NEW.user_id, 1);
END;
CREATE TRIGGER search_title_updated AFTER UPDATE OF id, title ON ai_chat_sessions
  WHEN OLD.title IS NOT NEW.title OR OLD.id IS NOT NEW.id BEGIN
  UPDATE search_entries SET id = NEW.id, pending = 1 WHERE id = OLD.id AND is_title = 1;
END;

CREATE TRIGGER search_message_inserted AFTER INSERT ON ai_chat_messages BEGIN
  INSERT INTO search_entries (id, is_title, session_id, user_id, pending)
    SELECT NEW.id, 0, id, user_id, 1 FROM existing_chats WHERE id = NEW.session_id;
END;
CREATE TRIGGER search_message_updated AFTER UPDATE OF id, session_id, content ON ai_chat_messages BEGIN
  UPDATE search_entries SET id = NEW.id, session_id = NEW.session_id, pending = 1 WHERE id = OLD.id AND is_title = 0;
END;
CREATE TRIGGER search_message_deleted AFTER DELETE ON ai_chat_messages BEGIN
  DELETE FROM search_entries WHERE id = OLD.id AND is_title = 0;
END;

-- Deletion of chats

-- Nothing of a deleted chat runs, waits or is found. Its messages remain until it is deleted permanently.
CREATE TRIGGER chat_deleted AFTER UPDATE OF deleted_at ON ai_chat_sessions
  WHEN OLD.deleted_at IS NULL AND NEW.deleted_at IS NOT NULL BEGIN
  DELETE FROM turns WHERE session_id = NEW.id;
  DELETE FROM queued_messages WHERE session_id = NEW.id;
  DELETE FROM search_entries WHERE session_id = NEW.id;
  UPDATE files SET maybe_orphaned = 1 WHERE session_id = NEW.id;
END;
CREATE TRIGGER chat_restored AFTER UPDATE OF deleted_at ON ai_chat_sessions
  WHEN OLD.deleted_at IS NOT NULL AND NEW.deleted_at IS NULL BEGIN
  INSERT INTO search_entries (id, is_title, session_id, user_id, pending) VALUES (NEW.id, 1, NEW.id, NEW.user_id, 1);
  INSERT INTO search_entries (id, is_title, session_id, user_id, pending)
    SELECT id, 0, session_id, NEW.user_id, 1 FROM ai_chat_messages WHERE session_id = NEW.id ORDER BY created_at, id;
END;
