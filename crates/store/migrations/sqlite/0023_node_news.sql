-- What processes tell each other and is too long for a notification. On this database there is nobody to be told.
CREATE TABLE node_news (
  id      BLOB PRIMARY KEY NOT NULL,
  text    TEXT NOT NULL,
  told_at INTEGER NOT NULL                       -- microseconds since 1970
) STRICT;
CREATE INDEX node_news_by_age ON node_news (told_at);
