-- What processes tell each other and is too long for a notification. It waits here for a minute.
CREATE TABLE node_news (
  id      UUID PRIMARY KEY NOT NULL,
  text    TEXT NOT NULL,
  told_at BIGINT NOT NULL                        -- microseconds since 1970
);
CREATE INDEX node_news_by_age ON node_news (told_at);
