-- Accounts of users at the identity provider with which they sign in (OpenID Connect).
CREATE TABLE identities (
  id              UUID PRIMARY KEY NOT NULL,
  user_id         UUID NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  issuer          TEXT NOT NULL,
  subject         TEXT NOT NULL,                  -- id of the user at the issuer
  identity_data   TEXT NOT NULL,                  -- JSON object: claims of the last sign-in
  last_sign_in_at BIGINT NOT NULL,
  created_at      BIGINT NOT NULL,
  updated_at      BIGINT NOT NULL,
  CONSTRAINT identities_issuer_subject_key UNIQUE (issuer, subject)
);
CREATE INDEX identities_by_user ON identities (user_id);

-- Sign-ins that have begun and wait for the browser to come back from the identity provider.
CREATE TABLE provider_sign_ins (
  state_hash BYTEA PRIMARY KEY NOT NULL,          -- SHA-256
  details    BYTEA NOT NULL,                       -- encrypted JSON
  expires_at BIGINT NOT NULL
);
CREATE INDEX provider_sign_ins_by_expiry ON provider_sign_ins (expires_at);
