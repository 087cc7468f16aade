-- Words that begin with a letter or two are looked for among the newest messages of a person first.
CREATE INDEX search_entries_by_user ON search_entries (user_id, is_title, number);
