-- What a person sets for the models of a chat: JSON; NULL where they set nothing.
ALTER TABLE chat_marks ADD COLUMN settings TEXT;

-- What holds in a person's chats that say nothing else.
CREATE TABLE model_defaults (
  user_id  UUID PRIMARY KEY NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  model    TEXT,                                 -- provider/name; NULL for the one that answers where nobody chose
  settings TEXT NOT NULL                         -- JSON
);
