-- Recovery codes, which replace a code of an authenticator. A user has at most one set.
CREATE TABLE recovery_code_sets (
  user_id       UUID PRIMARY KEY NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  id            UUID NOT NULL UNIQUE,              -- the same for renewed codes
  friendly_name TEXT NOT NULL,
  created_at    BIGINT NOT NULL,
  updated_at    BIGINT NOT NULL
);

CREATE TABLE recovery_codes (
  user_id UUID NOT NULL REFERENCES recovery_code_sets (user_id) ON DELETE CASCADE,
  hash    BYTEA NOT NULL,                          -- SHA-256: the code itself is random
  used_at BIGINT,
  PRIMARY KEY (user_id, hash)
);
