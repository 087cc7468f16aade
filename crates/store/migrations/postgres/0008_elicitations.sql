-- A question to the person that a call waits, or waited, with: of its server, or whether they sign in to it.
CREATE TABLE elicitations (
  id           UUID PRIMARY KEY NOT NULL,
  run_id       UUID NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  user_id      UUID NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  tool_call_id TEXT NOT NULL,
  about        BYTEA,                            -- encrypted JSON: where the call goes on; until its run has ended
  action       TEXT,                             -- accept, decline, cancel; NULL while it waits
  content      BYTEA,                            -- encrypted JSON object: what was filled in; until its run has ended
  created_at   BIGINT NOT NULL,
  answered_at  BIGINT
);
CREATE INDEX elicitations_by_run ON elicitations (run_id);
