-- Passkeys of users: WebAuthn credentials that sign in without a password.
CREATE TABLE passkeys (
  id              UUID PRIMARY KEY NOT NULL,
  user_id         UUID NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  credential_id   BYTEA NOT NULL,                  -- chosen by the authenticator
  public_key      BYTEA NOT NULL,                  -- COSE key
  sign_count      BIGINT NOT NULL,               -- of the last sign-in; 0 if the authenticator does not count
  backup_eligible BOOLEAN NOT NULL,               -- whether the authenticator may copy it to other devices
  friendly_name   TEXT NOT NULL,
  created_at      BIGINT NOT NULL,
  last_used_at    BIGINT,
  CONSTRAINT passkeys_credential_id_key UNIQUE (credential_id)
);
CREATE INDEX passkeys_by_user ON passkeys (user_id);

-- Challenges that a passkey has to sign, each once.
CREATE TABLE passkey_challenges (
  id         UUID PRIMARY KEY NOT NULL,
  user_id    UUID REFERENCES users (id) ON DELETE CASCADE,  -- who registers a passkey; NULL for a sign-in
  challenge  BYTEA NOT NULL,
  expires_at BIGINT NOT NULL
);
CREATE INDEX passkey_challenges_by_expiry ON passkey_challenges (expires_at);
CREATE INDEX passkey_challenges_by_user ON passkey_challenges (user_id);
