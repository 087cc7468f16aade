-- Requests and emails that are limited, counted by all nodes. Keys are hashes.
CREATE TABLE rate_limits (
  key     BLOB PRIMARY KEY NOT NULL,              -- SHA-256
  free_at INTEGER NOT NULL                          -- time at which nothing counts any more
) STRICT;
CREATE INDEX rate_limits_by_time ON rate_limits (free_at);

-- Attempts to prove an identity, at an account from one network address or from all. Keys are hashes.
CREATE TABLE login_attempts (
  key          BLOB PRIMARY KEY NOT NULL,         -- SHA-256
  failures     INTEGER NOT NULL,                     -- since the last success
  last_attempt INTEGER NOT NULL,
  last_success INTEGER
) STRICT;
CREATE INDEX login_attempts_by_time ON login_attempts (last_attempt);
