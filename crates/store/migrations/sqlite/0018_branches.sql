-- Another question or another answer begins another branch. What is not on the present branch of its chat is put aside: it
-- knows what it stands after, and is served as a branch alone. What is on the present branch stands after the message before it.
ALTER TABLE ai_chat_messages ADD COLUMN parent_id BLOB;          -- NULL: it begins the chat, or is on the present branch
ALTER TABLE ai_chat_messages ADD COLUMN aside_at INTEGER;       -- when it left the present branch; NULL: it is on it
ALTER TABLE deleted_messages ADD COLUMN parent_id BLOB;
ALTER TABLE deleted_messages ADD COLUMN aside_at INTEGER;
