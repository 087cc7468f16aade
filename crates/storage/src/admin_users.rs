//! All accounts, for the admin API.

use domain::{Timestamp, UserId};

use crate::audit_events::{self, NewAuditEvent, insert_events};
use crate::auth_sessions::DELETE_ALL;
use crate::db_macros::{read, transaction};
use crate::users::{User, UserRow};
use crate::{Error, UserRepository, auth_codes, identities, one_time_tokens, passkeys, recovery_codes};

const LIST_USERS: &str =
    "SELECT id, email, password_hash, email_confirmed_at, confirmation_sent_at, recovery_sent_at, new_email,
      email_change_sent_at, email_change_confirmed, reauthentication_sent_at, invited_at, banned_until, last_sign_in_at,
      is_anonymous, user_metadata, app_metadata, identity_id, deleted_at, created_at, updated_at,
      proven_email
    FROM users ORDER BY created_at DESC, id DESC LIMIT $1 OFFSET $2";

const COUNT_USERS: &str = "SELECT COUNT(*) FROM users";

const FIND_USERS: &str =
    "SELECT id, email, password_hash, email_confirmed_at, confirmation_sent_at, recovery_sent_at, new_email,
      email_change_sent_at, email_change_confirmed, reauthentication_sent_at, invited_at, banned_until, last_sign_in_at,
      is_anonymous, user_metadata, app_metadata, identity_id, deleted_at, created_at, updated_at,
      proven_email
    FROM users WHERE email LIKE $1 ESCAPE '!' ORDER BY created_at DESC, id DESC LIMIT $2 OFFSET $3";

const COUNT_FOUND_USERS: &str = "SELECT COUNT(*) FROM users WHERE email LIKE $1 ESCAPE '!'";

const ANONYMIZE_USER: &str = "UPDATE users SET email = $2, new_email = NULL, proven_email = NULL, password_hash = NULL,
      user_metadata = '{}', app_metadata = '{}', deleted_at = $3, updated_at = $3
    WHERE id = $1 AND deleted_at IS NULL";

const DELETE_FACTORS: &str = "DELETE FROM mfa_factors WHERE user_id = $1";

impl UserRepository<'_> {
    /// Returns a page of all accounts, newest first, without their factors. Not limited to one owner; for
    /// administrators only.
    pub async fn list(self, limit: i64, offset: i64) -> Result<Vec<User>, Error> {
        let rows = read!(self.storage, |c| sqlx::query_as::<_, UserRow>(LIST_USERS)
            .bind(limit)
            .bind(offset)
            .fetch_all(c)
            .await)?;
        Ok(rows.into_iter().map(User::from).collect())
    }

    /// Returns the number of accounts. Not limited to one owner; for administrators only.
    pub async fn count(self) -> Result<i64, Error> {
        Ok(read!(self.storage, |c| sqlx::query_scalar::<_, i64>(COUNT_USERS).fetch_one(c).await)?)
    }

    /// Returns a page of the accounts whose email address contains a text, newest first, without their factors, and
    /// the number of all such accounts. Not limited to one owner; for administrators only.
    pub async fn find(self, text: &str, limit: i64, offset: i64) -> Result<(Vec<User>, i64), Error> {
        let pattern = contains_pattern(text);
        let (rows, total) = read!(self.storage, |c| async {
            let find = sqlx::query_as::<_, UserRow>(FIND_USERS).bind(&pattern).bind(limit).bind(offset);
            let rows = find.fetch_all(&mut *c).await?;
            let total = sqlx::query_scalar::<_, i64>(COUNT_FOUND_USERS).bind(&pattern).fetch_one(&mut *c).await?;
            Ok::<_, sqlx::Error>((rows, total))
        }
        .await)?;
        Ok((rows.into_iter().map(User::from).collect(), total))
    }

    /// Anonymizes an account: removes its personal data and credentials, and ends its sessions. The row and its id
    /// remain, with `name` in place of the email address. Has no effect on an account that is already anonymized.
    pub async fn anonymize(
        self,
        user: UserId,
        name: &str,
        now: Timestamp,
        events: &[NewAuditEvent],
    ) -> Result<(), Error> {
        transaction!(self.storage, |tx| {
            sqlx::query(ANONYMIZE_USER).bind(user.0).bind(name).bind(now.0).execute(&mut *tx).await?;
            for statement in [
                DELETE_ALL,
                DELETE_FACTORS,
                recovery_codes::DELETE_SET,
                identities::DELETE_ALL,
                passkeys::DELETE_ALL,
                one_time_tokens::DELETE_ALL,
                auth_codes::DELETE_ALL,
                audit_events::ANONYMIZE,
            ] {
                sqlx::query(statement).bind(user.0).execute(&mut *tx).await?;
            }
            insert_events!(tx, events);
            Ok(())
        })
    }
}

/// Returns the pattern of `LIKE` for texts that contain `text`. Addresses are stored in lower case.
fn contains_pattern(text: &str) -> String {
    let mut pattern = String::from("%");
    for c in text.to_lowercase().chars() {
        if matches!(c, '%' | '_' | '!') {
            pattern.push('!');
        }
        pattern.push(c);
    }
    pattern.push('%');
    pattern
}
