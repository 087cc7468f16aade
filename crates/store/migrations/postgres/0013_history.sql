-- Times are microseconds since 1970 (UTC).

-- What a person has put on a chat. Nothing here refers to ai_chat_sessions: a chat that comes back has its marks again.
CREATE TABLE chat_marks (
  user_id     UUID NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  session_id  UUID NOT NULL,
  pinned_at   BIGINT,
  archived_at BIGINT,
  PRIMARY KEY (user_id, session_id)
);

-- Chats that were deleted a moment ago and can come back. No row of theirs stands in the tables that are served.
CREATE TABLE deleted_sessions (
  user_id    UUID NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  id         UUID NOT NULL,
  title      TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  deleted_at BIGINT NOT NULL,
  PRIMARY KEY (user_id, id)
);
CREATE INDEX deleted_sessions_by_time ON deleted_sessions (deleted_at);

CREATE TABLE deleted_messages (
  user_id    UUID NOT NULL,
  session_id UUID NOT NULL,
  id         UUID NOT NULL,
  role       TEXT NOT NULL,
  content    TEXT NOT NULL,
  tool_calls TEXT NOT NULL,
  parts      TEXT,
  status     TEXT,
  error      TEXT,
  model      TEXT,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (user_id, session_id, id),
  FOREIGN KEY (user_id, session_id) REFERENCES deleted_sessions (user_id, id) ON DELETE CASCADE
);

-- A chat as it was when its person shared it. A share works as long as the chat is there.
CREATE TABLE chat_shares (
  id         UUID PRIMARY KEY NOT NULL,
  token_hash BYTEA NOT NULL UNIQUE,              -- SHA-256
  user_id    UUID NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  session_id UUID NOT NULL,
  title      TEXT NOT NULL,
  messages   TEXT NOT NULL,                      -- JSON list
  count      BIGINT NOT NULL,                    -- of the messages
  tools      BOOLEAN NOT NULL,                   -- whether arguments and results of tools are in it
  created_at BIGINT NOT NULL
);
CREATE INDEX chat_shares_by_user ON chat_shares (user_id, id);

-- What can be searched: a title or a message. Triggers say that its words are to be read again; the program reads them.
CREATE TABLE search_entries (
  number     BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,  -- what came later has a higher one
  id         UUID NOT NULL,                      -- of the message; of the chat for its title
  is_title   BOOLEAN NOT NULL,
  session_id UUID NOT NULL REFERENCES ai_chat_sessions (id) ON DELETE CASCADE ON UPDATE CASCADE,
  user_id    UUID NOT NULL,
  pending    BOOLEAN NOT NULL,
  words      TSVECTOR,                           -- without places; each says whose it is
  CONSTRAINT search_entries_id_key UNIQUE (id, is_title)
);
CREATE INDEX search_entries_by_session ON search_entries (session_id);
CREATE INDEX search_entries_pending ON search_entries (user_id, number) WHERE pending;
CREATE INDEX search_entries_pending_of_all ON search_entries (number) WHERE pending;
-- Without a list of what is not merged yet: a search would read that list whole.
CREATE INDEX search_entries_by_words ON search_entries USING gin (words) WITH (fastupdate = off);

CREATE FUNCTION search_title_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO search_entries (id, is_title, session_id, user_id, pending) VALUES (NEW.id, true, NEW.id, NEW.user_id, true);
  ELSIF OLD.title IS DISTINCT FROM NEW.title OR OLD.id IS DISTINCT FROM NEW.id THEN
    UPDATE search_entries SET id = NEW.id, pending = true WHERE id = OLD.id AND is_title;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER search_title_changed AFTER INSERT OR UPDATE OF id, title ON ai_chat_sessions
  FOR EACH ROW EXECUTE FUNCTION search_title_changed();

CREATE FUNCTION search_message_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO search_entries (id, is_title, session_id, user_id, pending)
      SELECT NEW.id, false, id, user_id, true FROM ai_chat_sessions WHERE id = NEW.session_id;
  ELSIF TG_OP = 'UPDATE' THEN
    UPDATE search_entries SET id = NEW.id, session_id = NEW.session_id, pending = true WHERE id = OLD.id AND NOT is_title;
  ELSE
    DELETE FROM search_entries WHERE id = OLD.id AND NOT is_title;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER search_message_changed AFTER INSERT OR UPDATE OF id, session_id, content OR DELETE ON ai_chat_messages
  FOR EACH ROW EXECUTE FUNCTION search_message_changed();

INSERT INTO search_entries (id, is_title, session_id, user_id, pending)
  SELECT id, true, id, user_id, true FROM ai_chat_sessions ORDER BY created_at, id;
INSERT INTO search_entries (id, is_title, session_id, user_id, pending)
  SELECT m.id, false, s.id, s.user_id, true FROM ai_chat_messages m JOIN ai_chat_sessions s ON s.id = m.session_id
  ORDER BY m.created_at, m.id;
