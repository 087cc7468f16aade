-- MCP servers that the operator offers to users.
CREATE TABLE shared_servers (
  id          UUID PRIMARY KEY NOT NULL,
  name        TEXT NOT NULL,
  description TEXT NOT NULL,                      -- empty if the operator gave none
  url         TEXT NOT NULL,                      -- with *** for the values of its query
  url_query   BYTEA,                              -- encrypted; NULL where the URL has no query
  headers     BYTEA,                              -- encrypted JSON object; never returned to a client
  created_at  BIGINT NOT NULL,
  updated_at  BIGINT NOT NULL,
  CONSTRAINT shared_servers_name_key UNIQUE (name)
);

-- Domains of email addresses to which a server is offered. Without any, it is offered to every user.
CREATE TABLE shared_server_domains (
  shared_server_id UUID NOT NULL REFERENCES shared_servers (id) ON DELETE CASCADE,
  domain           TEXT NOT NULL,                 -- lower case
  PRIMARY KEY (shared_server_id, domain)
);

-- Of a connection to a shared server, whose URL and headers are read from there.
ALTER TABLE mcp_servers ADD COLUMN shared_server_id UUID REFERENCES shared_servers (id) ON DELETE CASCADE;
CREATE UNIQUE INDEX mcp_servers_by_shared_server ON mcp_servers (shared_server_id, user_id);
