-- Email address that is proven to be the user's. It proves nothing once the account has another address, so that no writer of `email`
-- has to empty it. Empty for addresses that were confirmed before this migration: some of them were confirmed without a proof.
ALTER TABLE users ADD COLUMN proven_email TEXT;
