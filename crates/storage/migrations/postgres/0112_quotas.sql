-- Quotas of single users, in place of the settings. NULL: the setting applies. -1: no limit.
CREATE TABLE user_quotas (
  user_id              UUID PRIMARY KEY NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  tokens_per_day       BIGINT,
  tokens_per_month     BIGINT,
  cost_nanos_per_day   BIGINT,                   -- billionths of a US dollar
  cost_nanos_per_month BIGINT,
  turns_per_hour       BIGINT,
  stored_bytes         BIGINT
);

-- What model calls in progress may use at most. A call whose usage is in model_usage no longer counts here.
CREATE TABLE usage_reservations (
  id         UUID PRIMARY KEY NOT NULL,           -- of the call, as in model_usage
  user_id    UUID NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  tokens     BIGINT NOT NULL,
  cost_nanos BIGINT NOT NULL,                    -- 0 if the price is unknown
  expires_at BIGINT NOT NULL                     -- in case that the process ends during the call
);
CREATE INDEX usage_reservations_by_user ON usage_reservations (user_id);

-- Turns that users with a limit of turns have begun in an hour.
CREATE TABLE turn_counts (
  user_id UUID PRIMARY KEY NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  hour    BIGINT NOT NULL,                       -- start of the hour
  turns   BIGINT NOT NULL
);
