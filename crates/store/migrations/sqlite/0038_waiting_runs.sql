-- Whether a turn that goes on waits for its user. The node that drives it keeps this up to date.
ALTER TABLE runs ADD COLUMN is_waiting INTEGER NOT NULL DEFAULT 0;
-- The turns of a user that go on, for pages that are opened meanwhile.
CREATE INDEX runs_going_on ON runs (user_id) WHERE status = 'running';
