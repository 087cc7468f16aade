-- What a person has said while an answer was being written: it is sent when that is done, one after the other.
CREATE TABLE queued_messages (
  id         UUID PRIMARY KEY NOT NULL,
  session_id UUID NOT NULL REFERENCES ai_chat_sessions (id) ON DELETE CASCADE ON UPDATE CASCADE,
  user_id    UUID NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  content    TEXT NOT NULL,
  parts      TEXT NOT NULL,                      -- JSON list: what goes with the words
  tools      TEXT NOT NULL,                      -- JSON list of {name, serverName, serverId}
  place      BIGINT NOT NULL                    -- the lower, the sooner
);
CREATE INDEX queued_messages_by_session ON queued_messages (session_id, place, id);
