-- Processes that drive turns. Each raises its beat once a second; one whose beat stands still is gone, and others take its
-- turns over. No clock of one node is held against that of another.
CREATE TABLE nodes (
  id   UUID PRIMARY KEY NOT NULL,
  beat BIGINT NOT NULL
);

-- Who drives a turn while it runs. NULL: nobody.
ALTER TABLE runs ADD COLUMN node_id UUID;

-- What people want of turns that another node drives, until the turn ends.
CREATE TABLE run_orders (
  run_id UUID NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  what   TEXT NOT NULL,                          -- stop, look (something was decided or answered), cancel and a call's id
  PRIMARY KEY (run_id, what)
);
