-- Passkeys of users: WebAuthn credentials that sign in without a password.
CREATE TABLE passkeys (
  id              BLOB PRIMARY KEY NOT NULL,
  user_id         BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  credential_id   BLOB NOT NULL,                  -- chosen by the authenticator
  public_key      BLOB NOT NULL,                  -- COSE key
  sign_count      INTEGER NOT NULL,               -- of the last sign-in; 0 if the authenticator does not count
  backup_eligible INTEGER NOT NULL,               -- 1 if the authenticator may copy it to other devices
  friendly_name   TEXT NOT NULL,
  created_at      INTEGER NOT NULL,
  last_used_at    INTEGER,
  CONSTRAINT passkeys_credential_id_key UNIQUE (credential_id)
) STRICT;
CREATE INDEX passkeys_by_user ON passkeys (user_id);

-- Challenges that a passkey has to sign, each once.
CREATE TABLE passkey_challenges (
  id         BLOB PRIMARY KEY NOT NULL,
  user_id    BLOB REFERENCES users (id) ON DELETE CASCADE,  -- who registers a passkey; NULL for a sign-in
  challenge  BLOB NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX passkey_challenges_by_expiry ON passkey_challenges (expires_at);
CREATE INDEX passkey_challenges_by_user ON passkey_challenges (user_id);
