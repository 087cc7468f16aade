-- What happened to accounts. Events outlive the accounts, so that nothing here refers to users.
CREATE TABLE audit_events (
  id             UUID PRIMARY KEY NOT NULL,
  user_id        UUID,                            -- NULL: there was no such account
  actor          TEXT NOT NULL,                   -- user, admin, system
  kind           TEXT NOT NULL,                   -- such as sign_in
  client_address TEXT,                            -- this and the next one: NULL after the deletion of the account
  user_agent     TEXT,
  created_at     BIGINT NOT NULL
);
CREATE INDEX audit_events_by_user ON audit_events (user_id, id);
CREATE INDEX audit_events_by_time ON audit_events (created_at);
