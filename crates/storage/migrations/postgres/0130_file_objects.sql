-- Where the content of a file is: NULL in file_bytes, otherwise in object storage under this key.
ALTER TABLE files ADD COLUMN object_key TEXT COLLATE "C";
ALTER TABLE files ADD COLUMN sha256_hash BYTEA;  -- of the object
CREATE UNIQUE INDEX files_by_object ON files (object_key) WHERE object_key IS NOT NULL;

-- The object storage in use: at most one row.
CREATE TABLE object_storage (
  is_only  INTEGER PRIMARY KEY CHECK (is_only = 1),
  id       UUID NOT NULL,                         -- of this installation: its keys begin with it
  location TEXT NOT NULL                          -- such as s3://bucket/folder
);

-- Objects whose file is deleted, until they are deleted as well.
CREATE TABLE object_deletions (
  object_key TEXT COLLATE "C" PRIMARY KEY
);

-- While a backup copies objects, none is deleted.
CREATE TABLE object_holds (
  id         UUID PRIMARY KEY,
  expires_at BIGINT NOT NULL                      -- in case that the process ends during the backup
);

CREATE FUNCTION file_object_unused() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO object_deletions (object_key) VALUES (OLD.object_key) ON CONFLICT (object_key) DO NOTHING;
  RETURN NULL;
END $$;
CREATE TRIGGER file_object_unused AFTER DELETE ON files
  FOR EACH ROW WHEN (OLD.object_key IS NOT NULL) EXECUTE FUNCTION file_object_unused();
