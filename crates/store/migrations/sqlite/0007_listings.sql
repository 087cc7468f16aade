-- What the server of a connection listed when it could last be asked, so that it is known after a start and while the server
-- is away.
CREATE TABLE server_listings (
  server_id BLOB PRIMARY KEY NOT NULL REFERENCES mcp_servers (id) ON DELETE CASCADE,
  user_id   BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  url       TEXT NOT NULL,                       -- where the server was
  tools     TEXT NOT NULL,                       -- JSON list of definitions
  about     TEXT,                                -- JSON object: what the server said of itself
  listed_at INTEGER NOT NULL
) STRICT;
CREATE INDEX server_listings_by_user ON server_listings (user_id);

ALTER TABLE mcp_servers ADD COLUMN disabled_tools TEXT NOT NULL DEFAULT '[]';  -- JSON list of names: what the person switched off
