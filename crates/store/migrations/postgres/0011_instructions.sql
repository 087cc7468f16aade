-- The instructions of a server as they were when a person allowed one of its tools for good. Once they are others, its tools
-- ask again.
CREATE TABLE server_instructions (
  server_id    UUID PRIMARY KEY NOT NULL REFERENCES mcp_servers (id) ON DELETE CASCADE,
  user_id      UUID NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  hash         TEXT NOT NULL,                    -- SHA-256 of the instructions, hexadecimal
  instructions TEXT NOT NULL,                    -- empty where the server gave none
  updated_at   BIGINT NOT NULL
);

ALTER TABLE tool_approvals ADD COLUMN instructions TEXT NOT NULL DEFAULT '';   -- the server's, when it was asked
