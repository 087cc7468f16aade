-- What an authorization server gave a person for one of their connections. A connection that is removed leaves it behind
-- until it has been revoked, so that nothing here refers to mcp_servers.
CREATE TABLE server_credentials (
  user_id   UUID NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  server_id UUID NOT NULL,
  issuer    TEXT NOT NULL,                       -- of the authorization server
  secret    BYTEA NOT NULL,                      -- encrypted JSON
  number    BIGINT NOT NULL,                     -- the highest of a connection was stored last
  PRIMARY KEY (user_id, server_id, issuer)
);

-- A client that the person registered at an authorization server by hand.
CREATE TABLE server_clients (
  user_id   UUID NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  server_id UUID NOT NULL,
  secret    BYTEA NOT NULL,                      -- encrypted JSON
  PRIMARY KEY (user_id, server_id)
);

-- Who changes the credentials of a connection at the moment.
CREATE TABLE server_locks (
  user_id    UUID NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  server_id  UUID NOT NULL,
  holder     UUID NOT NULL,
  expires_at BIGINT NOT NULL,                    -- void from then on: its holder is gone
  PRIMARY KEY (user_id, server_id)
);
