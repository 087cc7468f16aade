-- ID token of the last sign-in at the identity provider, encrypted. The provider needs it to sign the user out there.
ALTER TABLE identities ADD COLUMN id_token BLOB;
