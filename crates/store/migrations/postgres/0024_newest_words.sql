-- A word that stands in most messages is found among the newest ones without reading all that have it.
CREATE INDEX search_entries_by_user ON search_entries (user_id, is_title, number);
