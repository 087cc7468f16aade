-- Files beside chats: what people attach, what tools give back, pictures that models make. Times are microseconds since
-- 1970 (UTC).
CREATE TABLE files (
  id         UUID PRIMARY KEY NOT NULL,
  user_id    UUID NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  session_id UUID,                               -- NULL: it waits for its message. No reference: a chat may come back
  media_type TEXT NOT NULL,
  name       TEXT,
  size       BIGINT NOT NULL,                    -- bytes
  loose      BOOLEAN NOT NULL,                   -- something that named it has gone
  created_at BIGINT NOT NULL
);
CREATE INDEX files_by_user ON files (user_id, size);
CREATE INDEX files_by_session ON files (session_id);
CREATE INDEX files_waiting ON files (created_at) WHERE session_id IS NULL;
CREATE INDEX files_loose ON files (id) WHERE loose;

-- Beside the row, which is looked at often, and changes.
CREATE TABLE file_bytes (
  file_id UUID PRIMARY KEY NOT NULL REFERENCES files (id) ON DELETE CASCADE,
  bytes   BYTEA NOT NULL
);
-- Most of them are compressed already.
ALTER TABLE file_bytes ALTER COLUMN bytes SET STORAGE EXTERNAL;

-- What names a file: a message, one that waits in a queue, or a share. A message that was deleted may come back.
CREATE TABLE file_uses (
  holder_id UUID NOT NULL,
  file_id   UUID NOT NULL REFERENCES files (id) ON DELETE CASCADE,
  PRIMARY KEY (holder_id, file_id)
);
CREATE INDEX file_uses_by_file ON file_uses (file_id);

CREATE FUNCTION file_message_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    UPDATE files SET loose = true WHERE id IN (SELECT file_id FROM file_uses WHERE holder_id = OLD.id);
  ELSIF OLD.id IS DISTINCT FROM NEW.id THEN
    UPDATE file_uses SET holder_id = NEW.id WHERE holder_id = OLD.id;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER file_message_changed AFTER UPDATE OF id OR DELETE ON ai_chat_messages
  FOR EACH ROW EXECUTE FUNCTION file_message_changed();

CREATE FUNCTION file_holder_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE files SET loose = true WHERE id IN (SELECT file_id FROM file_uses WHERE holder_id = OLD.id);
  DELETE FROM file_uses WHERE holder_id = OLD.id;
  RETURN NULL;
END $$;
CREATE TRIGGER file_queued_deleted AFTER DELETE ON queued_messages
  FOR EACH ROW EXECUTE FUNCTION file_holder_deleted();
CREATE TRIGGER file_share_deleted AFTER DELETE ON chat_shares
  FOR EACH ROW EXECUTE FUNCTION file_holder_deleted();

-- What a turn has made whose answer was never written.
CREATE FUNCTION file_session_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE files SET loose = true WHERE session_id = OLD.id;
  RETURN NULL;
END $$;
CREATE TRIGGER file_session_deleted AFTER DELETE ON ai_chat_sessions
  FOR EACH ROW EXECUTE FUNCTION file_session_deleted();
