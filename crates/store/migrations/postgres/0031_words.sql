-- Emoji are words now, and more letters are folded: all texts are read anew.
UPDATE search_entries SET pending = true;
