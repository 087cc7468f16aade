-- Recovery codes, which replace a code of an authenticator. A user has at most one set.
CREATE TABLE recovery_code_sets (
  user_id       BLOB PRIMARY KEY NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  id            BLOB NOT NULL UNIQUE,              -- the same for renewed codes
  friendly_name TEXT NOT NULL,
  created_at    INTEGER NOT NULL,
  updated_at    INTEGER NOT NULL
) STRICT;

CREATE TABLE recovery_codes (
  user_id BLOB NOT NULL REFERENCES recovery_code_sets (user_id) ON DELETE CASCADE,
  hash    BLOB NOT NULL,                           -- SHA-256: the code itself is random
  used_at INTEGER,
  PRIMARY KEY (user_id, hash)
) STRICT;
