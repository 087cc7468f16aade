-- Registration tokens, with which users sign up where sign-up is by invitation.
CREATE TABLE registration_tokens (
  id         UUID PRIMARY KEY NOT NULL,
  hash       BYTEA NOT NULL UNIQUE,               -- SHA-256: the token itself is random
  note       TEXT NOT NULL,                       -- of the operator; may be empty
  domain     TEXT,                                -- only addresses of this domain can sign up with it
  max_uses   BIGINT NOT NULL,
  uses       BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  revoked_at BIGINT
);

-- The token that an event is about, or with which an account was created.
ALTER TABLE audit_events ADD COLUMN registration_token_id UUID;
