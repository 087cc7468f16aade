-- A call that runs as a task at its server: what is needed to take it up again when the program was stopped meanwhile.
CREATE TABLE tool_tasks (
  run_id       BLOB NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  tool_call_id TEXT NOT NULL,
  user_id      BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  server_id    BLOB NOT NULL,
  url          TEXT NOT NULL,                    -- where the server was at the beginning
  allowed_by   TEXT NOT NULL,                    -- as in tool_audit
  task         TEXT NOT NULL,                    -- the server's id for it
  form         TEXT NOT NULL,                    -- core, extension
  ttl_ms       INTEGER,                          -- how long the server keeps it; NULL without an end
  created_at   INTEGER NOT NULL,
  PRIMARY KEY (run_id, tool_call_id)
) STRICT;
