-- What a person allows one tool of one of their connections to do. "always" holds for the definition that the person saw,
-- at the address where it was seen, and for no other.
CREATE TABLE tool_permissions (
  server_id       UUID NOT NULL REFERENCES mcp_servers (id) ON DELETE CASCADE,
  tool            TEXT NOT NULL,
  user_id         UUID NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  permission      TEXT NOT NULL,                 -- ask, always, never
  url             TEXT NOT NULL,                 -- where the server was
  definition_hash TEXT,                          -- SHA-256 of the definition, hexadecimal; of "always" only
  definition      TEXT,                          -- the definition, canonical JSON; of "always" only
  updated_at      BIGINT NOT NULL,
  PRIMARY KEY (server_id, tool)
);
CREATE INDEX tool_permissions_by_user ON tool_permissions (user_id);

-- A call that waits, or waited, for its person's consent.
CREATE TABLE tool_approvals (
  id           UUID PRIMARY KEY NOT NULL,
  run_id       UUID NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  user_id      UUID NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  tool_call_id TEXT NOT NULL,
  server_id    UUID NOT NULL,
  tool         TEXT NOT NULL,
  url          TEXT NOT NULL,
  definition   TEXT NOT NULL,                    -- canonical JSON: what the person is asked about
  decision     TEXT,                             -- once, always, deny; NULL while it waits
  arguments    TEXT,                             -- JSON object, where the person changed them
  created_at   BIGINT NOT NULL,
  decided_at   BIGINT
);
CREATE INDEX tool_approvals_by_run ON tool_approvals (run_id);

-- Every call of a tool: when, which, who allowed it, what came of it.
CREATE TABLE tool_audit (
  id          UUID PRIMARY KEY NOT NULL,
  user_id     UUID NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  server_name TEXT NOT NULL,
  tool        TEXT NOT NULL,
  allowed_by  TEXT NOT NULL,                     -- default, rule, once, always, form; nobody
  outcome     TEXT NOT NULL,
  created_at  BIGINT NOT NULL
);
CREATE INDEX tool_audit_by_user ON tool_audit (user_id, id);

ALTER TABLE runs ADD COLUMN tools TEXT NOT NULL DEFAULT '[]';             -- JSON list of {name, serverName}: what it may use
