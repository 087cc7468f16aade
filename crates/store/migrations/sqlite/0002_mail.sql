-- Times are microseconds since 1970 (UTC).

ALTER TABLE users ADD COLUMN recovery_sent_at INTEGER;
ALTER TABLE users ADD COLUMN new_email TEXT;                  -- lower case; waits for its confirmation
ALTER TABLE users ADD COLUMN email_change_sent_at INTEGER;
ALTER TABLE users ADD COLUMN email_change_confirmed TEXT;     -- the half that is confirmed: current or new
ALTER TABLE users ADD COLUMN reauthentication_sent_at INTEGER;
ALTER TABLE users ADD COLUMN invited_at INTEGER;
ALTER TABLE users ADD COLUMN banned_until INTEGER;

-- What was mailed to show that an address is a person's: a link, a code or both. One of a kind for each person.
CREATE TABLE one_time_tokens (
  id               BLOB PRIMARY KEY NOT NULL,
  user_id          BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  kind             TEXT NOT NULL,                 -- confirmation, recovery, email_change_current, email_change_new, reauthentication
  email            TEXT NOT NULL,                 -- where it was sent
  link_hash        BLOB UNIQUE,                  -- SHA-256
  code_hash        BLOB NOT NULL,                -- HMAC-SHA-256 with a key that is kept apart
  tries            INTEGER NOT NULL,               -- how often a code was tried
  challenge        TEXT,                          -- PKCE
  challenge_method TEXT,                          -- s256 or plain
  expires_at       INTEGER NOT NULL,
  CONSTRAINT one_time_tokens_user_id_kind_key UNIQUE (user_id, kind)
) STRICT;
CREATE INDEX one_time_tokens_by_email ON one_time_tokens (email);

-- A confirmed link whose sign-in waits for the program that began it to show its verifier (RFC 7636).
CREATE TABLE auth_codes (
  code_hash        BLOB PRIMARY KEY NOT NULL,    -- SHA-256
  user_id          BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  method           TEXT NOT NULL,                 -- the word of the access token's amr
  challenge        TEXT NOT NULL,
  challenge_method TEXT NOT NULL,                 -- s256 or plain
  expires_at       INTEGER NOT NULL
) STRICT;
CREATE INDEX auth_codes_by_user ON auth_codes (user_id);
