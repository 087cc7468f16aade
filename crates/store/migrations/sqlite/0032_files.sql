-- Files beside chats: what people attach, what tools give back, pictures that models make. Times are microseconds since
-- 1970 (UTC).
CREATE TABLE files (
  id         BLOB PRIMARY KEY NOT NULL,
  user_id    BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  session_id BLOB,                               -- NULL: it waits for its message. No reference: a chat may come back
  media_type TEXT NOT NULL,
  name       TEXT,
  size       INTEGER NOT NULL,                   -- bytes
  loose      INTEGER NOT NULL,                   -- something that named it has gone; 0 or 1
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX files_by_user ON files (user_id, size);
CREATE INDEX files_by_session ON files (session_id);
CREATE INDEX files_waiting ON files (created_at) WHERE session_id IS NULL;
CREATE INDEX files_loose ON files (id) WHERE loose;

-- Beside the row, which is looked at often, and changes.
CREATE TABLE file_bytes (
  file_id BLOB PRIMARY KEY NOT NULL REFERENCES files (id) ON DELETE CASCADE,
  bytes   BLOB NOT NULL
) STRICT;

-- What names a file: a message, one that waits in a queue, or a share. A message that was deleted may come back.
CREATE TABLE file_uses (
  holder_id BLOB NOT NULL,
  file_id   BLOB NOT NULL REFERENCES files (id) ON DELETE CASCADE,
  PRIMARY KEY (holder_id, file_id)
) STRICT;
CREATE INDEX file_uses_by_file ON file_uses (file_id);

CREATE TRIGGER file_message_deleted AFTER DELETE ON ai_chat_messages BEGIN
  UPDATE files SET loose = 1 WHERE id IN (SELECT file_id FROM file_uses WHERE holder_id = OLD.id);
END;
CREATE TRIGGER file_message_renamed AFTER UPDATE OF id ON ai_chat_messages WHEN OLD.id IS NOT NEW.id BEGIN
  UPDATE file_uses SET holder_id = NEW.id WHERE holder_id = OLD.id;
END;
CREATE TRIGGER file_queued_deleted AFTER DELETE ON queued_messages BEGIN
  UPDATE files SET loose = 1 WHERE id IN (SELECT file_id FROM file_uses WHERE holder_id = OLD.id);
  DELETE FROM file_uses WHERE holder_id = OLD.id;
END;
CREATE TRIGGER file_share_deleted AFTER DELETE ON chat_shares BEGIN
  UPDATE files SET loose = 1 WHERE id IN (SELECT file_id FROM file_uses WHERE holder_id = OLD.id);
  DELETE FROM file_uses WHERE holder_id = OLD.id;
END;
-- What a turn has made whose answer was never written.
CREATE TRIGGER file_session_deleted AFTER DELETE ON ai_chat_sessions BEGIN
  UPDATE files SET loose = 1 WHERE session_id = OLD.id;
END;
