-- Sessions at the identity provider in which sign-ins here began, so that a logout there ends them. Empty if the provider names
-- none in its ID tokens, and for sign-ins from before this migration.
ALTER TABLE auth_sessions ADD COLUMN provider_issuer TEXT;
ALTER TABLE auth_sessions ADD COLUMN provider_session_id TEXT;  -- sid of the ID token
CREATE INDEX auth_sessions_by_provider_session ON auth_sessions (provider_issuer, provider_session_id)
  WHERE provider_session_id IS NOT NULL;

-- The same for codes that are not exchanged yet.
ALTER TABLE auth_codes ADD COLUMN provider_issuer TEXT;
ALTER TABLE auth_codes ADD COLUMN provider_session_id TEXT;
