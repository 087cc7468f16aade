-- When a sign-in was first used with what its last refresh answered: from then on the refresh token before it is refused.
ALTER TABLE auth_sessions ADD COLUMN confirmed_at BIGINT NOT NULL DEFAULT 0;
