-- A second factor of a person: an authenticator app (TOTP, RFC 6238).
CREATE TABLE mfa_factors (
  id                 BLOB PRIMARY KEY NOT NULL,
  user_id            BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  friendly_name      TEXT NOT NULL,
  status             TEXT NOT NULL,              -- unverified or verified
  secret             BLOB NOT NULL,              -- encrypted
  last_step          INTEGER NOT NULL,           -- the newest time step whose code was used; no earlier one is good again
  last_challenged_at INTEGER,
  created_at         INTEGER NOT NULL,
  updated_at         INTEGER NOT NULL,
  CONSTRAINT mfa_factors_user_id_friendly_name_key UNIQUE (user_id, friendly_name)
) STRICT;

-- An invitation to send a code.
CREATE TABLE mfa_challenges (
  id          BLOB PRIMARY KEY NOT NULL,
  factor_id   BLOB NOT NULL REFERENCES mfa_factors (id) ON DELETE CASCADE,
  address     TEXT NOT NULL,                     -- of the caller who asked for it
  verified_at INTEGER,
  created_at  INTEGER NOT NULL
) STRICT;
CREATE INDEX mfa_challenges_by_factor ON mfa_challenges (factor_id);

ALTER TABLE auth_sessions ADD COLUMN factor_id BLOB;                    -- the factor that made it aal2
ALTER TABLE auth_sessions ADD COLUMN used_at INTEGER NOT NULL DEFAULT 0; -- exact to five minutes
