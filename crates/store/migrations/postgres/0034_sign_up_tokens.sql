-- Whether a token was mailed for the latest sign-up of its account. Confirming an address with another one drops the
-- password and the metadata of that sign-up: somebody else may have chosen them.
ALTER TABLE one_time_tokens ADD COLUMN from_sign_up BOOLEAN NOT NULL DEFAULT FALSE;
