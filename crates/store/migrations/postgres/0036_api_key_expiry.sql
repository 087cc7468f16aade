-- From when on a key opens nothing. Keys without it are good until they are ended.
ALTER TABLE api_keys ADD COLUMN expires_at BIGINT;
