-- Quotas of single users, in place of the settings. NULL: the setting applies. -1: no limit.
CREATE TABLE user_quotas (
  user_id              BLOB PRIMARY KEY NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  tokens_per_day       INTEGER,
  tokens_per_month     INTEGER,
  cost_nanos_per_day   INTEGER,                   -- billionths of a US dollar
  cost_nanos_per_month INTEGER,
  turns_per_hour       INTEGER,
  stored_bytes         INTEGER
) STRICT;

-- What model calls in progress may use at most. A call whose usage is in model_usage no longer counts here.
CREATE TABLE usage_reservations (
  id         BLOB PRIMARY KEY NOT NULL,           -- of the call, as in model_usage
  user_id    BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  tokens     INTEGER NOT NULL,
  cost_nanos INTEGER NOT NULL,                    -- 0 if the price is unknown
  expires_at INTEGER NOT NULL                     -- in case that the process ends during the call
) STRICT;
CREATE INDEX usage_reservations_by_user ON usage_reservations (user_id);

-- Turns that users with a limit of turns have begun in an hour.
CREATE TABLE turn_counts (
  user_id BLOB PRIMARY KEY NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  hour    INTEGER NOT NULL,                       -- start of the hour
  turns   INTEGER NOT NULL
) STRICT;
