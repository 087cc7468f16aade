-- Times are microseconds since 1970 (UTC).

-- What a person has put on a chat. Nothing here refers to ai_chat_sessions: a chat that comes back has its marks again.
CREATE TABLE chat_marks (
  user_id     BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  session_id  BLOB NOT NULL,
  pinned_at   INTEGER,
  archived_at INTEGER,
  PRIMARY KEY (user_id, session_id)
) STRICT;

-- Chats that were deleted a moment ago and can come back. No row of theirs stands in the tables that are served.
CREATE TABLE deleted_sessions (
  user_id    BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  id         BLOB NOT NULL,
  title      TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  deleted_at INTEGER NOT NULL,
  PRIMARY KEY (user_id, id)
) STRICT;
CREATE INDEX deleted_sessions_by_time ON deleted_sessions (deleted_at);

CREATE TABLE deleted_messages (
  user_id    BLOB NOT NULL,
  session_id BLOB NOT NULL,
  id         BLOB NOT NULL,
  role       TEXT NOT NULL,
  content    TEXT NOT NULL,
  tool_calls TEXT NOT NULL,
  parts      TEXT,
  status     TEXT,
  error      TEXT,
  model      TEXT,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (user_id, session_id, id),
  FOREIGN KEY (user_id, session_id) REFERENCES deleted_sessions (user_id, id) ON DELETE CASCADE
) STRICT;

-- A chat as it was when its person shared it. A share works as long as the chat is there.
CREATE TABLE chat_shares (
  id         BLOB PRIMARY KEY NOT NULL,
  token_hash BLOB NOT NULL UNIQUE,               -- SHA-256
  user_id    BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  session_id BLOB NOT NULL,
  title      TEXT NOT NULL,
  messages   TEXT NOT NULL,                      -- JSON list
  count      INTEGER NOT NULL,                   -- of the messages
  tools      INTEGER NOT NULL,                   -- whether arguments and results of tools are in it: 0 or 1
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX chat_shares_by_user ON chat_shares (user_id, id);

-- What can be searched: a title or a message. Triggers say that its words are to be read again; the program reads them.
CREATE TABLE search_entries (
  number     INTEGER PRIMARY KEY NOT NULL,       -- what came later has a higher one
  id         BLOB NOT NULL,                      -- of the message; of the chat for its title
  is_title   INTEGER NOT NULL,                   -- 0 or 1
  session_id BLOB NOT NULL REFERENCES ai_chat_sessions (id) ON DELETE CASCADE ON UPDATE CASCADE,
  user_id    BLOB NOT NULL,
  pending    INTEGER NOT NULL,                   -- 0 or 1
  CONSTRAINT search_entries_id_key UNIQUE (id, is_title)
) STRICT;
CREATE INDEX search_entries_by_session ON search_entries (session_id);
CREATE INDEX search_entries_pending ON search_entries (user_id, number) WHERE pending;
CREATE INDEX search_entries_pending_of_all ON search_entries (number) WHERE pending;

-- The words themselves, by the entry's number; each says whose it is.
CREATE VIRTUAL TABLE search_words USING fts5 (words, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii');

CREATE TRIGGER search_entry_deleted AFTER DELETE ON search_entries BEGIN
  DELETE FROM search_words WHERE rowid = OLD.number;
END;

CREATE TRIGGER search_title_inserted AFTER INSERT ON ai_chat_sessions BEGIN
  INSERT INTO search_entries (id, is_title, session_id, user_id, pending) VALUES (NEW.id, 1, NEW.id, NEW.user_id, 1);
END;
CREATE TRIGGER search_title_updated AFTER UPDATE OF id, title ON ai_chat_sessions
  WHEN OLD.title IS NOT NEW.title OR OLD.id IS NOT NEW.id BEGIN
  UPDATE search_entries SET id = NEW.id, pending = 1 WHERE id = OLD.id AND is_title = 1;
END;

CREATE TRIGGER search_message_inserted AFTER INSERT ON ai_chat_messages BEGIN
  INSERT INTO search_entries (id, is_title, session_id, user_id, pending)
    SELECT NEW.id, 0, id, user_id, 1 FROM ai_chat_sessions WHERE id = NEW.session_id;
END;
CREATE TRIGGER search_message_updated AFTER UPDATE OF id, session_id, content ON ai_chat_messages BEGIN
  UPDATE search_entries SET id = NEW.id, session_id = NEW.session_id, pending = 1 WHERE id = OLD.id AND is_title = 0;
END;
CREATE TRIGGER search_message_deleted AFTER DELETE ON ai_chat_messages BEGIN
  DELETE FROM search_entries WHERE id = OLD.id AND is_title = 0;
END;

INSERT INTO search_entries (id, is_title, session_id, user_id, pending)
  SELECT id, 1, id, user_id, 1 FROM ai_chat_sessions ORDER BY created_at, id;
INSERT INTO search_entries (id, is_title, session_id, user_id, pending)
  SELECT m.id, 0, s.id, s.user_id, 1 FROM ai_chat_messages m JOIN ai_chat_sessions s ON s.id = m.session_id
  ORDER BY m.created_at, m.id;
