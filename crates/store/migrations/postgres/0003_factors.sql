-- A second factor of a person: an authenticator app (TOTP, RFC 6238).
CREATE TABLE mfa_factors (
  id                 UUID PRIMARY KEY NOT NULL,
  user_id            UUID NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  friendly_name      TEXT NOT NULL,
  status             TEXT NOT NULL,              -- unverified or verified
  secret             BYTEA NOT NULL,             -- encrypted
  last_step          BIGINT NOT NULL,           -- the newest time step whose code was used; no earlier one is good again
  last_challenged_at BIGINT,
  created_at         BIGINT NOT NULL,
  updated_at         BIGINT NOT NULL,
  CONSTRAINT mfa_factors_user_id_friendly_name_key UNIQUE (user_id, friendly_name)
);

-- An invitation to send a code.
CREATE TABLE mfa_challenges (
  id          UUID PRIMARY KEY NOT NULL,
  factor_id   UUID NOT NULL REFERENCES mfa_factors (id) ON DELETE CASCADE,
  address     TEXT NOT NULL,                     -- of the caller who asked for it
  verified_at BIGINT,
  created_at  BIGINT NOT NULL
);
CREATE INDEX mfa_challenges_by_factor ON mfa_challenges (factor_id);

ALTER TABLE auth_sessions ADD COLUMN factor_id UUID;                    -- the factor that made it aal2
ALTER TABLE auth_sessions ADD COLUMN used_at BIGINT NOT NULL DEFAULT 0; -- exact to five minutes
