-- Keys by which push services recognize this server (VAPID, RFC 8292). The one with the highest number signs.
CREATE TABLE push_keys (
  number      BIGINT PRIMARY KEY NOT NULL,
  private_key BYTEA NOT NULL,                      -- PKCS #8, encrypted with the master key
  created_at  BIGINT NOT NULL
);

-- Browsers that receive push messages, one per sign-in. A subscription ends with its sign-in.
CREATE TABLE push_subscriptions (
  id            UUID PRIMARY KEY NOT NULL,
  user_id       UUID NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  session_id    UUID NOT NULL UNIQUE REFERENCES auth_sessions (id) ON DELETE CASCADE,
  endpoint_hash BYTEA NOT NULL UNIQUE,             -- SHA-256 of the URL: a browser has one user at a time
  target        BYTEA NOT NULL,                    -- encrypted JSON: URL of the push service, keys of the browser
  created_at    BIGINT NOT NULL
);
CREATE INDEX push_subscriptions_by_user ON push_subscriptions (user_id);

-- From here on, interactions.tool is the tool of every kind of interaction.
