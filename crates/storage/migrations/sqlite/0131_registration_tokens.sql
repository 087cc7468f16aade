-- Registration tokens, with which users sign up where sign-up is by invitation.
CREATE TABLE registration_tokens (
  id         BLOB PRIMARY KEY NOT NULL,
  hash       BLOB NOT NULL UNIQUE,                -- SHA-256: the token itself is random
  note       TEXT NOT NULL,                       -- of the operator; may be empty
  domain     TEXT,                                -- only addresses of this domain can sign up with it
  max_uses   INTEGER NOT NULL,
  uses       INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  revoked_at INTEGER
) STRICT;

-- The token that an event is about, or with which an account was created.
ALTER TABLE audit_events ADD COLUMN registration_token_id BLOB;
