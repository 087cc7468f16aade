-- Groups of users at the identity provider, as of the last sign-in with the identity.
CREATE TABLE identity_groups (
  identity_id BLOB NOT NULL REFERENCES identities (id) ON DELETE CASCADE,
  name        TEXT NOT NULL,
  PRIMARY KEY (identity_id, name)
) STRICT;

-- Groups of users to whom a server is offered. Without any, and without domains, it is offered to every user.
CREATE TABLE shared_server_groups (
  shared_server_id BLOB NOT NULL REFERENCES shared_servers (id) ON DELETE CASCADE,
  name             TEXT NOT NULL,
  PRIMARY KEY (shared_server_id, name)
) STRICT;
