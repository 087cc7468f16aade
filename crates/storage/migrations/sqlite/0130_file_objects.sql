-- Where the content of a file is: NULL in file_bytes, otherwise in object storage under this key.
ALTER TABLE files ADD COLUMN object_key TEXT;
ALTER TABLE files ADD COLUMN sha256_hash BLOB;   -- of the object
CREATE UNIQUE INDEX files_by_object ON files (object_key) WHERE object_key IS NOT NULL;

-- The object storage in use: at most one row.
CREATE TABLE object_storage (
  is_only  INTEGER PRIMARY KEY NOT NULL CHECK (is_only = 1),
  id       BLOB NOT NULL,                         -- of this installation: its keys begin with it
  location TEXT NOT NULL                          -- such as s3://bucket/folder
) STRICT;

-- Objects whose file is deleted, until they are deleted as well.
CREATE TABLE object_deletions (
  object_key TEXT PRIMARY KEY NOT NULL
) STRICT;

-- While a backup copies objects, none is deleted.
CREATE TABLE object_holds (
  id         BLOB PRIMARY KEY NOT NULL,
  expires_at INTEGER NOT NULL                     -- in case that the process ends during the backup
) STRICT;

CREATE TRIGGER file_object_unused AFTER DELETE ON files WHEN OLD.object_key IS NOT NULL BEGIN
  INSERT OR IGNORE INTO object_deletions (object_key) VALUES (OLD.object_key);
END;
