-- Whether the model of a chat proposes its title after the first answer.
ALTER TABLE model_defaults ADD COLUMN propose_titles INTEGER NOT NULL DEFAULT 0;

-- From here on, model_usage.message_id is also NULL for the call that proposes the title of a chat.
