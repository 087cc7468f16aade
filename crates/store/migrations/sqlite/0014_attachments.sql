-- What a person attached to a message that is not sent yet. With the message it becomes a part of it.
CREATE TABLE attachments (
  id         BLOB PRIMARY KEY NOT NULL,
  user_id    BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  attachment TEXT NOT NULL,                      -- JSON
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX attachments_by_user ON attachments (user_id, created_at);
