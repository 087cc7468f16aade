//! User accounts (`users`).

use domain::{AuthSessionId, Timestamp, UserId};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::audit_events::{self, NewAuditEvent, insert_events};
use crate::auth_sessions::delete_sessions_of_method;
use crate::db_macros::{read, transaction, write};
use crate::factors::Factor;
use crate::identities::{self, Identity, insert_identity};
use crate::named_values::query_named;
use crate::one_time_tokens::{OneTimeToken, replace_token};
use crate::registration_tokens::{RegistrationTokenUse, take_use};
use crate::{Error, JsonText, UserRepository, auth_codes, auth_sessions, one_time_tokens};

/// One of the two addresses of a change of email address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmailHalf {
    /// The current address.
    Current,
    /// The new address.
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

/// A user account (a row of `users`), with its second [factors](Factor) and [identities](Identity).
#[derive(Debug, Clone, PartialEq)]
pub struct User {
    /// Its id.
    pub id: UserId,
    /// Email address in lower case; `None` for an anonymous user.
    pub email: Option<String>,
    /// Argon2id hash as a PHC string; `None` for a user without a password.
    pub password_hash: Option<String>,
    /// Time at which the email address was confirmed.
    pub email_confirmed_at: Option<Timestamp>,
    /// Email address that is proven to be the user's: by an emailed link, by the identity provider or by the operator.
    /// Proves nothing once the account has another address.
    pub proven_email: Option<String>,
    /// Time of the last confirmation email.
    pub confirmation_sent_at: Option<Timestamp>,
    /// Time of the last email with a sign-in or recovery link.
    pub recovery_sent_at: Option<Timestamp>,
    /// Requested new email address in lower case, until it is confirmed.
    pub new_email: Option<String>,
    /// Time of the last emails about the new address.
    pub email_change_sent_at: Option<Timestamp>,
    /// Address that has already confirmed the change.
    pub email_change_confirmed: Option<EmailHalf>,
    /// Time of the last email with a reauthentication code.
    pub reauthentication_sent_at: Option<Timestamp>,
    /// Time at which an administrator invited the user.
    pub invited_at: Option<Timestamp>,
    /// Time until which the user may not sign in.
    pub banned_until: Option<Timestamp>,
    /// Time of the last sign-in. Written only by [`AuthSessionRepository::insert`](crate::AuthSessionRepository::insert).
    pub last_sign_in_at: Option<Timestamp>,
    /// Whether the user signed in anonymously.
    pub is_anonymous: bool,
    /// Metadata that the user and API clients may write.
    pub user_metadata: Map<String, Value>,
    /// Metadata that only the server writes.
    pub app_metadata: Map<String, Value>,
    /// Id of the email identity.
    pub identity_id: Uuid,
    /// Time at which an administrator emptied the account. Written only by [`UserRepository::anonymize`](crate::UserRepository::anonymize).
    pub deleted_at: Option<Timestamp>,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change. It also serves as the version for optimistic locking.
    pub updated_at: Timestamp,
    /// Second factors. They are read with the account but written by the functions of [`crate::factors`].
    pub factors: Vec<Factor>,
    /// Accounts at the identity provider. They are read with the account but written by the functions of
    /// [`crate::identities`].
    pub identities: Vec<Identity>,
}

impl User {
    /// Creates an empty account.
    pub fn new(id: UserId, now: Timestamp) -> Self {
        Self {
            id,
            email: None,
            password_hash: None,
            email_confirmed_at: None,
            proven_email: None,
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
            identities: Vec::new(),
        }
    }

    /// Returns whether the email address is proven to be the user's. A confirmed one need not be: where the operator asks
    /// for no proof, addresses count as confirmed at once.
    pub fn has_proven_email(&self) -> bool {
        self.email.is_some() && self.email == self.proven_email
    }

    /// Returns the domain of the email address if the address is proven. No other domain may give access to anything.
    pub fn proven_domain(&self) -> Option<&str> {
        let email = self.email.as_deref().filter(|_| self.has_proven_email())?;
        email.rsplit_once('@').map(|(_, domain)| domain)
    }

    /// Returns whether the user may not sign in now.
    pub fn is_banned(&self, now: Timestamp) -> bool {
        self.banned_until.is_some_and(|until| until > now)
    }
}

/// Changes that are made in the same transaction as an account update.
#[derive(Debug, Default)]
pub struct Along<'a> {
    /// Ends all sessions of the user except this one.
    pub keep: Option<AuthSessionId>,
    /// Ends all sessions of the user.
    pub sign_out: bool,
    /// One-time token that authorizes the update. If it no longer exists, nothing is written.
    pub spend: Option<Uuid>,
    /// Use of a registration token. If it is no longer valid, nothing is written.
    pub registration: Option<RegistrationTokenUse>,
    /// Deletes all one-time tokens and auth codes of the user.
    pub void: bool,
    /// New one-time tokens, each in place of the previous one of its kind.
    pub issue: &'a [OneTimeToken],
    /// Identity that the account gets.
    pub link: Option<&'a Identity>,
    /// Identity that the account loses.
    pub unlink: Option<IdentityRemoval>,
    /// Audit events.
    pub events: &'a [NewAuditEvent],
}

/// The removal of an identity from an account. It also deletes the auth codes of the user.
#[derive(Debug, Clone, Copy)]
pub struct IdentityRemoval {
    /// The identity.
    pub id: Uuid,
    /// Authentication method of the sessions that end. They do not record the identity with which they began.
    pub method: &'static str,
    /// Session that does not end.
    pub keep: AuthSessionId,
}

/// The result of an account update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// The update was written.
    Done,
    /// The account was changed in the meantime; nothing was written.
    Changed,
    /// The one-time token no longer exists, or the registration token is no longer valid; nothing was written.
    Spent,
}

#[derive(sqlx::FromRow)]
pub(crate) struct UserRow {
    id: Uuid,
    email: Option<String>,
    password_hash: Option<String>,
    email_confirmed_at: Option<i64>,
    proven_email: Option<String>,
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
        // An unknown word counts as no confirmation, so that both addresses have to confirm again.
        let half = |word: &str| [EmailHalf::Current, EmailHalf::New].into_iter().find(|half| half.word() == word);
        Self {
            id: UserId(row.id),
            email: row.email,
            password_hash: row.password_hash,
            email_confirmed_at: row.email_confirmed_at.map(Timestamp),
            proven_email: row.proven_email,
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
            identities: Vec::new(),
        }
    }
}

const INSERT: &str = "INSERT INTO users
      (id, email, password_hash, email_confirmed_at, confirmation_sent_at, is_anonymous, user_metadata, app_metadata,
       updated_at, recovery_sent_at, new_email, email_change_sent_at, email_change_confirmed, reauthentication_sent_at,
       invited_at, banned_until, last_sign_in_at, identity_id, created_at, proven_email)
    VALUES (:id, :email, :password_hash, :email_confirmed_at, :confirmation_sent_at, :is_anonymous, :user_metadata,
       :app_metadata, :updated_at, :recovery_sent_at, :new_email, :email_change_sent_at, :email_change_confirmed,
       :reauthentication_sent_at, :invited_at, :banned_until, :last_sign_in_at, :identity_id, :created_at,
       :proven_email)";

const GET: &str =
    "SELECT id, email, password_hash, email_confirmed_at, confirmation_sent_at, recovery_sent_at, new_email,
      email_change_sent_at, email_change_confirmed, reauthentication_sent_at, invited_at, banned_until, last_sign_in_at,
      is_anonymous, user_metadata, app_metadata, identity_id, deleted_at, created_at, updated_at,
      proven_email
    FROM users WHERE id = $1";

const GET_BY_EMAIL: &str =
    "SELECT id, email, password_hash, email_confirmed_at, confirmation_sent_at, recovery_sent_at,
      new_email, email_change_sent_at, email_change_confirmed, reauthentication_sent_at, invited_at, banned_until,
      last_sign_in_at, is_anonymous, user_metadata, app_metadata, identity_id, deleted_at, created_at, updated_at,
      proven_email
    FROM users WHERE email = $1";

// `updated_at` is the version: the update has no effect if the account was changed since it was read.
const UPDATE: &str = "UPDATE users SET email = :email, password_hash = :password_hash,
      email_confirmed_at = :email_confirmed_at, confirmation_sent_at = :confirmation_sent_at,
      is_anonymous = :is_anonymous, user_metadata = :user_metadata, app_metadata = :app_metadata,
      updated_at = :updated_at, recovery_sent_at = :recovery_sent_at, new_email = :new_email,
      email_change_sent_at = :email_change_sent_at, email_change_confirmed = :email_change_confirmed,
      reauthentication_sent_at = :reauthentication_sent_at, invited_at = :invited_at, banned_until = :banned_until,
      proven_email = :proven_email
    WHERE id = :id AND updated_at = :seen";

// Foreign keys with `ON DELETE CASCADE` delete everything else of the account.
const DELETE: &str = "DELETE FROM users WHERE id = $1";

/// Locks an account within a transaction, so that parallel requests cannot pass a check of a limit together.
pub const LOCK: &str = "UPDATE users SET updated_at = updated_at WHERE id = $1";

const DELETE_UNCONFIRMED: &str = "DELETE FROM users WHERE id = $1 AND email_confirmed_at IS NULL AND updated_at = $2";

/// Builds a query with the values that [`INSERT`] and [`UPDATE`] have in common, and those of `$rest`.
macro_rules! user_query {
    ($sql:ident, $user:expr, $user_metadata:expr, $app_metadata:expr, $($rest:tt)+) => {
        query_named!(
            $sql,
            id = $user.id.0,
            email = $user.email.as_deref(),
            password_hash = $user.password_hash.as_deref(),
            email_confirmed_at = $user.email_confirmed_at.map(|at| at.0),
            proven_email = $user.proven_email.as_deref(),
            confirmation_sent_at = $user.confirmation_sent_at.map(|at| at.0),
            is_anonymous = $user.is_anonymous,
            user_metadata = $user_metadata,
            app_metadata = $app_metadata,
            updated_at = $user.updated_at.0,
            recovery_sent_at = $user.recovery_sent_at.map(|at| at.0),
            new_email = $user.new_email.as_deref(),
            email_change_sent_at = $user.email_change_sent_at.map(|at| at.0),
            email_change_confirmed = $user.email_change_confirmed.map(EmailHalf::word),
            reauthentication_sent_at = $user.reauthentication_sent_at.map(|at| at.0),
            invited_at = $user.invited_at.map(|at| at.0),
            banned_until = $user.banned_until.map(|at| at.0),
            $($rest)+
        )
    };
}

impl UserRepository<'_> {
    /// Stores a new account.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`] if another account has the email address.
    pub async fn insert(self, user: &User) -> Result<(), Error> {
        self.insert_with(user, &[], None, &[]).await
    }

    /// Stores a new account, its one-time tokens, its [`User::identities`], and audit events. Takes a use of the
    /// registration token with which it was created, if there is one.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`] if another account has the email address or an identity, [`Error::NotFound`] if the
    /// registration token is no longer valid. Nothing is stored then.
    pub async fn insert_with(
        self,
        user: &User,
        issue: &[OneTimeToken],
        registration: Option<RegistrationTokenUse>,
        events: &[NewAuditEvent],
    ) -> Result<(), Error> {
        let user_metadata = JsonText(&user.user_metadata);
        let app_metadata = JsonText(&user.app_metadata);
        transaction!(self.storage, |tx| {
            if let Some(registration) = &registration
                && !take_use!(tx, registration)
            {
                return Err(Error::NotFound);
            }
            user_query!(
                INSERT,
                user,
                &user_metadata,
                &app_metadata,
                last_sign_in_at = user.last_sign_in_at.map(|at| at.0),
                identity_id = user.identity_id,
                created_at = user.created_at.0,
            )
            .execute(&mut *tx)
            .await?;
            for token in issue {
                replace_token!(tx, token);
            }
            for identity in &user.identities {
                insert_identity!(tx, identity);
            }
            insert_events!(tx, events);
            Ok(())
        })
    }

    /// Returns an account with its [`User::factors`] and [`User::identities`].
    pub async fn get(self, user: UserId) -> Result<Option<User>, Error> {
        let row = read!(self.storage, |c| sqlx::query_as::<_, UserRow>(GET).bind(user.0).fetch_optional(c).await)?;
        self.with_parts(row).await
    }

    /// Returns the account with this email address, which must be in lower case.
    pub async fn get_by_email(self, email: &str) -> Result<Option<User>, Error> {
        let row =
            read!(self.storage, |c| sqlx::query_as::<_, UserRow>(GET_BY_EMAIL).bind(email).fetch_optional(c).await)?;
        self.with_parts(row).await
    }

    async fn with_parts(self, row: Option<UserRow>) -> Result<Option<User>, Error> {
        let Some(row) = row else { return Ok(None) };
        let factors = self.storage.factors().list(UserId(row.id)).await?;
        let identities = self.storage.identities().list(UserId(row.id)).await?;
        Ok(Some(User { factors, identities, ..row.into() }))
    }

    /// Deletes an account and everything that belongs to it, except its audit events, from which what identifies the user
    /// is removed. Stores audit `events`. Returns whether the account existed; otherwise nothing is stored.
    pub async fn delete(self, user: UserId, events: &[NewAuditEvent]) -> Result<bool, Error> {
        transaction!(self.storage, |tx| {
            if sqlx::query(DELETE).bind(user.0).execute(&mut *tx).await?.rows_affected() == 0 {
                return Ok(false);
            }
            sqlx::query(audit_events::ANONYMIZE).bind(user.0).execute(&mut *tx).await?;
            insert_events!(tx, events);
            Ok(true)
        })
    }

    /// Updates an account if it is unchanged since `seen` (its `updated_at`). With `keep`, also ends all other
    /// sessions. Returns whether it was updated.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`] if another account has the email address.
    pub async fn update(self, user: &User, seen: Timestamp, keep: Option<AuthSessionId>) -> Result<bool, Error> {
        let along = Along { keep, ..Along::default() };
        Ok(self.update_with(user, seen, &along).await? == Written::Done)
    }

    /// Updates an account if it is unchanged since `seen` (its `updated_at`), and makes the changes of `along` in the
    /// same transaction.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`] if another account has the email address or the identity.
    pub async fn update_with(self, user: &User, seen: Timestamp, along: &Along<'_>) -> Result<Written, Error> {
        let user_metadata = JsonText(&user.user_metadata);
        let app_metadata = JsonText(&user.app_metadata);
        transaction!(self.storage, |tx| {
            if let Some(registration) = &along.registration
                && !take_use!(tx, registration)
            {
                return Ok(Written::Spent);
            }
            if let Some(token) = along.spend {
                let spent =
                    sqlx::query(one_time_tokens::DELETE_ONE).bind(user.id.0).bind(token).execute(&mut *tx).await?;
                if spent.rows_affected() == 0 {
                    return Ok(Written::Spent);
                }
            }
            let written =
                user_query!(UPDATE, user, &user_metadata, &app_metadata, seen = seen.0).execute(&mut *tx).await?;
            if written.rows_affected() == 0 {
                // An error, because only an error rolls back the spent token. It is translated below.
                return Err(Error::NotFound);
            }
            if let Some(keep) = along.keep {
                sqlx::query(auth_sessions::DELETE_OTHERS).bind(user.id.0).bind(keep.0).execute(&mut *tx).await?;
            }
            if along.sign_out {
                sqlx::query(auth_sessions::DELETE_ALL).bind(user.id.0).execute(&mut *tx).await?;
            }
            if along.void {
                sqlx::query(one_time_tokens::DELETE_ALL).bind(user.id.0).execute(&mut *tx).await?;
                sqlx::query(auth_codes::DELETE_ALL).bind(user.id.0).execute(&mut *tx).await?;
            }
            for token in along.issue {
                replace_token!(tx, token);
            }
            if let Some(identity) = along.link {
                insert_identity!(tx, identity);
            }
            if let Some(removal) = along.unlink {
                sqlx::query(identities::DELETE).bind(user.id.0).bind(removal.id).execute(&mut *tx).await?;
                sqlx::query(auth_codes::DELETE_ALL).bind(user.id.0).execute(&mut *tx).await?;
                delete_sessions_of_method!(tx, user.id, removal.method, i64::MAX, Some(removal.keep));
            }
            insert_events!(tx, along.events);
            Ok(Written::Done)
        })
        // The transaction was rolled back by an error, so that the token is not spent.
        .or_else(|error| match error {
            Error::NotFound => Ok(Written::Changed),
            other => Err(other),
        })
    }

    /// Deletes an account whose email address was never confirmed, unless it was changed since `seen` (its
    /// `updated_at`).
    pub async fn delete_unconfirmed(self, user: UserId, seen: Timestamp) -> Result<(), Error> {
        write!(self.storage, |c| sqlx::query(DELETE_UNCONFIRMED)
            .bind(user.0)
            .bind(seen.0)
            .execute(c)
            .await
            .map(|_| ()))?;
        Ok(())
    }
}
