-- When the administrator emptied the account. The row stays, so that its id does.
ALTER TABLE users ADD COLUMN deleted_at INTEGER;

-- For the administrator's list.
CREATE INDEX users_by_age ON users (created_at, id);
