-- Requests and emails that are limited, counted by all nodes. Keys are hashes.
CREATE TABLE rate_limits (
  key     BYTEA PRIMARY KEY NOT NULL,              -- SHA-256
  free_at BIGINT NOT NULL                           -- time at which nothing counts any more
);
CREATE INDEX rate_limits_by_time ON rate_limits (free_at);

-- Attempts to prove an identity, at an account from one network address or from all. Keys are hashes.
CREATE TABLE login_attempts (
  key          BYTEA PRIMARY KEY NOT NULL,         -- SHA-256
  failures     BIGINT NOT NULL,                     -- since the last success
  last_attempt BIGINT NOT NULL,
  last_success BIGINT
);
CREATE INDEX login_attempts_by_time ON login_attempts (last_attempt);
