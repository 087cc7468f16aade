-- A question to the person that a call waits, or waited, with: of its server, or whether they sign in to it.
CREATE TABLE elicitations (
  id           BLOB PRIMARY KEY NOT NULL,
  run_id       BLOB NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  user_id      BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  tool_call_id TEXT NOT NULL,
  about        BLOB,                             -- encrypted JSON: where the call goes on; until its run has ended
  action       TEXT,                             -- accept, decline, cancel; NULL while it waits
  content      BLOB,                             -- encrypted JSON object: what was filled in; until its run has ended
  created_at   INTEGER NOT NULL,
  answered_at  INTEGER
) STRICT;
CREATE INDEX elicitations_by_run ON elicitations (run_id);
