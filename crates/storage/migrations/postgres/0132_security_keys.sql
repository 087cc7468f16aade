-- Security keys as second factors: WebAuthn credentials that are asked for after another proof of identity.
ALTER TABLE mfa_factors ADD COLUMN factor_type TEXT NOT NULL DEFAULT 'totp';  -- totp or webauthn, whose secret is empty
ALTER TABLE mfa_challenges ADD COLUMN challenge BYTEA;                        -- bytes that a security key signs

CREATE TABLE factor_credentials (
  factor_id       UUID PRIMARY KEY NOT NULL REFERENCES mfa_factors (id) ON DELETE CASCADE,
  credential_id   BYTEA NOT NULL,                 -- chosen by the authenticator
  public_key      BYTEA NOT NULL,                 -- COSE key
  sign_count      BIGINT NOT NULL,                -- of the last use; 0 if the authenticator does not count
  backup_eligible BOOLEAN NOT NULL,               -- whether the authenticator may copy it to other devices
  CONSTRAINT factor_credentials_credential_id_key UNIQUE (credential_id)
);
