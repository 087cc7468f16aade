//! People with accounts (`users`).

use domain::{AuthSessionId, Timestamp, UserId};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::dispatch::{read, transaction, write};
use crate::factors::Factor;
use crate::one_time_tokens::{OneTimeToken, replace_token};
use crate::{Error, JsonText, Store, auth_codes, auth_sessions, one_time_tokens};

/// The rule that two accounts never share an e-mail address, as [`Error::Conflict`] names it.
pub const EMAIL_IS_UNIQUE: &str = "users.email";

/// Half of a change of address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmailHalf {
    /// The present address.
    Current,
    /// The new one.
    New,
}

impl EmailHalf {
    fn word(self) -> &'static str {
        match self {
            Self::Current => "current",
            Self::New => "new",
        }
    }
}

/// A person with an account.
#[derive(Debug, Clone, PartialEq)]
pub struct User {
    /// The person.
    pub id: UserId,
    /// In lower case; none for an anonymous person.
    pub email: Option<String>,
    /// Argon2id as a PHC string; none for a person who signs in without a password.
    pub password_hash: Option<String>,
    /// When the address was shown to be the person's.
    pub email_confirmed_at: Option<Timestamp>,
    /// When a mail with a confirmation link was last sent.
    pub confirmation_sent_at: Option<Timestamp>,
    /// When a mail with a link to sign in or to choose a new password was last sent.
    pub recovery_sent_at: Option<Timestamp>,
    /// The address that the person wants, in lower case, as long as it waits for its confirmation.
    pub new_email: Option<String>,
    /// When the mails about the new address were last sent.
    pub email_change_sent_at: Option<Timestamp>,
    /// Which of the two addresses has confirmed the change.
    pub email_change_confirmed: Option<EmailHalf>,
    /// When a mail with a code for a signed-in person was last sent.
    pub reauthentication_sent_at: Option<Timestamp>,
    /// When an administrator invited the person.
    pub invited_at: Option<Timestamp>,
    /// Until when the person must not sign in.
    pub banned_until: Option<Timestamp>,
    /// When the person last signed in. Written by [`Store::insert_auth_session`] alone.
    pub last_sign_in_at: Option<Timestamp>,
    /// The person signed in without saying who they are.
    pub is_anonymous: bool,
    /// What the person and their programs keep here.
    pub user_metadata: Map<String, Value>,
    /// What the server keeps here.
    pub app_metadata: Map<String, Value>,
    /// The id of the e-mail identity.
    pub identity_id: Uuid,
    /// When the administrator emptied the account. Written by [`Store::empty_user`] alone.
    pub deleted_at: Option<Timestamp>,
    /// When the account was made.
    pub created_at: Timestamp,
    /// When it was last changed; it also tells two changes at the same time apart.
    pub updated_at: Timestamp,
    /// The person's second factors. Read with the account; the functions of [`crate::factors`] write them.
    pub factors: Vec<Factor>,
}

impl User {
    /// An account with nothing in it yet.
    pub fn new(id: UserId, now: Timestamp) -> Self {
        Self {
            id,
            email: None,
            password_hash: None,
            email_confirmed_at: None,
            confirmation_sent_at: None,
            recovery_sent_at: None,
            new_email: None,
            email_change_sent_at: None,
            email_change_confirmed: None,
            reauthentication_sent_at: None,
            invited_at: None,
            banned_until: None,
            last_sign_in_at: None,
            is_anonymous: false,
            user_metadata: Map::new(),
            app_metadata: Map::new(),
            identity_id: domain::ids::fresh(),
            deleted_at: None,
            created_at: now,
            updated_at: now,
            factors: Vec::new(),
        }
    }

    /// Whether the person must not sign in now.
    pub fn is_banned(&self, now: Timestamp) -> bool {
        self.banned_until.is_some_and(|until| until > now)
    }
}

/// What happens together with a change of an account, in one transaction with it.
#[derive(Debug, Default)]
pub struct Along<'a> {
    /// Ends every sign-in of the person but this one.
    pub keep: Option<AuthSessionId>,
    /// Ends every sign-in of the person.
    pub sign_out: bool,
    /// The one-time token that allows the change. When it is gone nothing is written.
    pub spend: Option<Uuid>,
    /// Voids every one-time token and code of the person.
    pub void: bool,
    /// New tokens of the person, each in the place of an older one of its kind.
    pub issue: &'a [OneTimeToken],
}

/// What came of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// It was made.
    Done,
    /// Somebody else changed the account meanwhile; nothing was written.
    Changed,
    /// The one-time token is gone; nothing was written.
    Spent,
}

#[derive(sqlx::FromRow)]
pub(crate) struct UserRow {
    id: Uuid,
    email: Option<String>,
    password_hash: Option<String>,
    email_confirmed_at: Option<i64>,
    confirmation_sent_at: Option<i64>,
    recovery_sent_at: Option<i64>,
    new_email: Option<String>,
    email_change_sent_at: Option<i64>,
    email_change_confirmed: Option<String>,
    reauthentication_sent_at: Option<i64>,
    invited_at: Option<i64>,
    banned_until: Option<i64>,
    last_sign_in_at: Option<i64>,
    is_anonymous: bool,
    user_metadata: JsonText<Map<String, Value>>,
    app_metadata: JsonText<Map<String, Value>>,
    identity_id: Uuid,
    deleted_at: Option<i64>,
    created_at: i64,
    updated_at: i64,
}

impl From<UserRow> for User {
    fn from(row: UserRow) -> Self {
        let half = |word: &str| [EmailHalf::Current, EmailHalf::New].into_iter().find(|half| half.word() == word);
        Self {
            id: UserId(row.id),
            email: row.email,
            password_hash: row.password_hash,
            email_confirmed_at: row.email_confirmed_at.map(Timestamp),
            confirmation_sent_at: row.confirmation_sent_at.map(Timestamp),
            recovery_sent_at: row.recovery_sent_at.map(Timestamp),
            new_email: row.new_email,
            email_change_sent_at: row.email_change_sent_at.map(Timestamp),
            email_change_confirmed: row.email_change_confirmed.as_deref().and_then(half),
            reauthentication_sent_at: row.reauthentication_sent_at.map(Timestamp),
            invited_at: row.invited_at.map(Timestamp),
            banned_until: row.banned_until.map(Timestamp),
            last_sign_in_at: row.last_sign_in_at.map(Timestamp),
            is_anonymous: row.is_anonymous,
            user_metadata: row.user_metadata.0,
            app_metadata: row.app_metadata.0,
            identity_id: row.identity_id,
            deleted_at: row.deleted_at.map(Timestamp),
            created_at: Timestamp(row.created_at),
            updated_at: Timestamp(row.updated_at),
            factors: Vec::new(),
        }
    }
}

const INSERT: &str = "INSERT INTO users
      (id, email, password_hash, email_confirmed_at, confirmation_sent_at, is_anonymous, user_metadata, app_metadata,
       updated_at, recovery_sent_at, new_email, email_change_sent_at, email_change_confirmed, reauthentication_sent_at,
       invited_at, banned_until, last_sign_in_at, identity_id, created_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)";

const GET: &str =
    "SELECT id, email, password_hash, email_confirmed_at, confirmation_sent_at, recovery_sent_at, new_email,
      email_change_sent_at, email_change_confirmed, reauthentication_sent_at, invited_at, banned_until, last_sign_in_at,
      is_anonymous, user_metadata, app_metadata, identity_id, deleted_at, created_at, updated_at
    FROM users WHERE id = $1";

const GET_BY_EMAIL: &str =
    "SELECT id, email, password_hash, email_confirmed_at, confirmation_sent_at, recovery_sent_at,
      new_email, email_change_sent_at, email_change_confirmed, reauthentication_sent_at, invited_at, banned_until,
      last_sign_in_at, is_anonymous, user_metadata, app_metadata, identity_id, deleted_at, created_at, updated_at
    FROM users WHERE email = $1";

const UPDATE: &str = "UPDATE users SET email = $2, password_hash = $3, email_confirmed_at = $4,
      confirmation_sent_at = $5, is_anonymous = $6, user_metadata = $7, app_metadata = $8, updated_at = $9,
      recovery_sent_at = $10, new_email = $11, email_change_sent_at = $12, email_change_confirmed = $13,
      reauthentication_sent_at = $14, invited_at = $15, banned_until = $16
    WHERE id = $1 AND updated_at = $17";

const DELETE: &str = "DELETE FROM users WHERE id = $1";

/// Within a transaction: holds back others that count what a person has before they add to it.
pub(crate) const LOCK: &str = "UPDATE users SET updated_at = updated_at WHERE id = $1";

const DELETE_UNCONFIRMED: &str = "DELETE FROM users WHERE id = $1 AND email_confirmed_at IS NULL AND updated_at = $2";

/// What [`INSERT`] and [`UPDATE`] have in common: `$1` to `$16`.
macro_rules! bind_user {
    ($query:expr, $user:expr, $user_metadata:expr, $app_metadata:expr) => {
        $query
            .bind($user.id.0)
            .bind($user.email.as_deref())
            .bind($user.password_hash.as_deref())
            .bind($user.email_confirmed_at.map(|at| at.0))
            .bind($user.confirmation_sent_at.map(|at| at.0))
            .bind($user.is_anonymous)
            .bind($user_metadata)
            .bind($app_metadata)
            .bind($user.updated_at.0)
            .bind($user.recovery_sent_at.map(|at| at.0))
            .bind($user.new_email.as_deref())
            .bind($user.email_change_sent_at.map(|at| at.0))
            .bind($user.email_change_confirmed.map(EmailHalf::word))
            .bind($user.reauthentication_sent_at.map(|at| at.0))
            .bind($user.invited_at.map(|at| at.0))
            .bind($user.banned_until.map(|at| at.0))
    };
}

impl Store {
    /// Stores a new account.
    ///
    /// Errors: `Conflict` when another account has the address.
    pub async fn insert_user(&self, user: &User) -> Result<(), Error> {
        self.insert_user_with(user, &[]).await
    }

    /// Stores a new account together with one-time tokens of it.
    ///
    /// Errors: `Conflict` when another account has the address.
    pub async fn insert_user_with(&self, user: &User, issue: &[OneTimeToken]) -> Result<(), Error> {
        let user_metadata = JsonText(&user.user_metadata);
        let app_metadata = JsonText(&user.app_metadata);
        transaction!(self, |tx| {
            bind_user!(sqlx::query(INSERT), user, &user_metadata, &app_metadata)
                .bind(user.last_sign_in_at.map(|at| at.0))
                .bind(user.identity_id)
                .bind(user.created_at.0)
                .execute(&mut *tx)
                .await?;
            for token in issue {
                replace_token!(tx, token);
            }
            Ok(())
        })
    }

    /// A person's account.
    pub async fn get_user(&self, user: UserId) -> Result<Option<User>, Error> {
        let row = read!(self, |c| sqlx::query_as::<_, UserRow>(GET).bind(user.0).fetch_optional(c).await)?;
        self.with_factors(row).await
    }

    /// The account with this address, which must be in lower case.
    pub async fn get_user_by_email(&self, email: &str) -> Result<Option<User>, Error> {
        let row = read!(self, |c| sqlx::query_as::<_, UserRow>(GET_BY_EMAIL).bind(email).fetch_optional(c).await)?;
        self.with_factors(row).await
    }

    async fn with_factors(&self, row: Option<UserRow>) -> Result<Option<User>, Error> {
        let Some(row) = row else { return Ok(None) };
        let factors = self.list_factors(UserId(row.id)).await?;
        Ok(Some(User { factors, ..row.into() }))
    }

    /// Removes a person's account and everything that belongs to it. Answers whether there was one.
    pub async fn delete_user(&self, user: UserId) -> Result<bool, Error> {
        let deleted =
            write!(self, |c| sqlx::query(DELETE).bind(user.0).execute(c).await.map(|done| done.rows_affected()))?;
        Ok(deleted == 1)
    }

    /// Writes a changed account over the one that was read at `seen` (its `updated_at`), and with `keep` ends every
    /// sign-in of the person but that one; both or neither. Answers whether it did: `false` means that somebody else
    /// changed the account meanwhile, and nothing was written.
    ///
    /// Errors: `Conflict` when another account has the address.
    pub async fn update_user(&self, user: &User, seen: Timestamp, keep: Option<AuthSessionId>) -> Result<bool, Error> {
        let along = Along { keep, ..Along::default() };
        Ok(self.update_user_with(user, seen, &along).await? == Written::Done)
    }

    /// Writes a changed account over the one that was read at `seen` (its `updated_at`), and does what goes along with
    /// it: everything or nothing.
    ///
    /// Errors: `Conflict` when another account has the address.
    pub async fn update_user_with(&self, user: &User, seen: Timestamp, along: &Along<'_>) -> Result<Written, Error> {
        let user_metadata = JsonText(&user.user_metadata);
        let app_metadata = JsonText(&user.app_metadata);
        transaction!(self, |tx| {
            if let Some(token) = along.spend {
                let spent = sqlx::query(one_time_tokens::SPEND).bind(user.id.0).bind(token).execute(&mut *tx).await?;
                if spent.rows_affected() == 0 {
                    return Ok(Written::Spent);
                }
            }
            let written = bind_user!(sqlx::query(UPDATE), user, &user_metadata, &app_metadata)
                .bind(seen.0)
                .execute(&mut *tx)
                .await?;
            if written.rows_affected() == 0 {
                return Err(Error::NotFound);
            }
            if let Some(keep) = along.keep {
                sqlx::query(auth_sessions::DELETE_OTHERS).bind(user.id.0).bind(keep.0).execute(&mut *tx).await?;
            }
            if along.sign_out {
                sqlx::query(auth_sessions::DELETE_ALL).bind(user.id.0).execute(&mut *tx).await?;
            }
            if along.void {
                sqlx::query(one_time_tokens::VOID).bind(user.id.0).execute(&mut *tx).await?;
                sqlx::query(auth_codes::VOID).bind(user.id.0).execute(&mut *tx).await?;
            }
            for token in along.issue {
                replace_token!(tx, token);
            }
            Ok(Written::Done)
        })
        // Rolled back, so that the token is not spent on nothing.
        .or_else(|error| match error {
            Error::NotFound => Ok(Written::Changed),
            other => Err(other),
        })
    }

    /// Removes a person whose address was never confirmed, unless the account was changed since `seen` (its
    /// `updated_at`).
    pub async fn delete_unconfirmed_user(&self, user: UserId, seen: Timestamp) -> Result<(), Error> {
        write!(self, |c| sqlx::query(DELETE_UNCONFIRMED).bind(user.0).bind(seen.0).execute(c).await.map(|_| ()))?;
        Ok(())
    }
}
