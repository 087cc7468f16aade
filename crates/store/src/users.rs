//! People with accounts (`users`).

use domain::{AuthSessionId, Timestamp, UserId};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::dispatch::{read, transaction, write};
use crate::{Error, JsonText, Store};

/// The rule that two accounts never share an e-mail address, as [`Error::Conflict`] names it.
pub const EMAIL_IS_UNIQUE: &str = "users.email";

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
    /// When the account was made.
    pub created_at: Timestamp,
    /// When it was last changed; it also tells two changes at the same time apart.
    pub updated_at: Timestamp,
}

#[derive(sqlx::FromRow)]
struct UserRow {
    id: Uuid,
    email: Option<String>,
    password_hash: Option<String>,
    email_confirmed_at: Option<i64>,
    confirmation_sent_at: Option<i64>,
    last_sign_in_at: Option<i64>,
    is_anonymous: bool,
    user_metadata: JsonText<Map<String, Value>>,
    app_metadata: JsonText<Map<String, Value>>,
    identity_id: Uuid,
    created_at: i64,
    updated_at: i64,
}

impl From<UserRow> for User {
    fn from(row: UserRow) -> Self {
        Self {
            id: UserId(row.id),
            email: row.email,
            password_hash: row.password_hash,
            email_confirmed_at: row.email_confirmed_at.map(Timestamp),
            confirmation_sent_at: row.confirmation_sent_at.map(Timestamp),
            last_sign_in_at: row.last_sign_in_at.map(Timestamp),
            is_anonymous: row.is_anonymous,
            user_metadata: row.user_metadata.0,
            app_metadata: row.app_metadata.0,
            identity_id: row.identity_id,
            created_at: Timestamp(row.created_at),
            updated_at: Timestamp(row.updated_at),
        }
    }
}

const INSERT: &str = "INSERT INTO users
      (id, email, password_hash, email_confirmed_at, confirmation_sent_at, last_sign_in_at, is_anonymous, user_metadata,
       app_metadata, identity_id, created_at, updated_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";

const GET: &str = "SELECT id, email, password_hash, email_confirmed_at, confirmation_sent_at, last_sign_in_at,
      is_anonymous, user_metadata, app_metadata, identity_id, created_at, updated_at
    FROM users WHERE id = $1";

const GET_BY_EMAIL: &str = "SELECT id, email, password_hash, email_confirmed_at, confirmation_sent_at, last_sign_in_at,
      is_anonymous, user_metadata, app_metadata, identity_id, created_at, updated_at
    FROM users WHERE email = $1";

const UPDATE: &str = "UPDATE users SET email = $3, password_hash = $4, email_confirmed_at = $5,
      confirmation_sent_at = $6, is_anonymous = $7, user_metadata = $8, app_metadata = $9, updated_at = $10
    WHERE id = $1 AND updated_at = $2";

impl Store {
    /// Stores a new account.
    ///
    /// Errors: `Conflict` when another account has the address.
    pub async fn insert_user(&self, user: &User) -> Result<(), Error> {
        write!(self, |c| sqlx::query(INSERT)
            .bind(user.id.0)
            .bind(user.email.as_deref())
            .bind(user.password_hash.as_deref())
            .bind(user.email_confirmed_at.map(|at| at.0))
            .bind(user.confirmation_sent_at.map(|at| at.0))
            .bind(user.last_sign_in_at.map(|at| at.0))
            .bind(user.is_anonymous)
            .bind(JsonText(&user.user_metadata))
            .bind(JsonText(&user.app_metadata))
            .bind(user.identity_id)
            .bind(user.created_at.0)
            .bind(user.updated_at.0)
            .execute(c)
            .await
            .map(|_| ()))?;
        Ok(())
    }

    /// A person's account.
    pub async fn get_user(&self, user: UserId) -> Result<Option<User>, Error> {
        let row = read!(self, |c| sqlx::query_as::<_, UserRow>(GET).bind(user.0).fetch_optional(c).await)?;
        Ok(row.map(User::from))
    }

    /// The account with this address, which must be in lower case.
    pub async fn get_user_by_email(&self, email: &str) -> Result<Option<User>, Error> {
        let row = read!(self, |c| sqlx::query_as::<_, UserRow>(GET_BY_EMAIL).bind(email).fetch_optional(c).await)?;
        Ok(row.map(User::from))
    }

    /// Writes a changed account over the one that was read at `seen` (its `updated_at`), and with `keep` ends every
    /// sign-in of the person but that one; both or neither. Answers whether it did: `false` means that somebody else
    /// changed the account meanwhile, and nothing was written.
    ///
    /// Errors: `Conflict` when another account has the address.
    pub async fn update_user(&self, user: &User, seen: Timestamp, keep: Option<AuthSessionId>) -> Result<bool, Error> {
        let user_metadata = JsonText(&user.user_metadata);
        let app_metadata = JsonText(&user.app_metadata);
        transaction!(self, |tx| {
            let written = sqlx::query(UPDATE)
                .bind(user.id.0)
                .bind(seen.0)
                .bind(user.email.as_deref())
                .bind(user.password_hash.as_deref())
                .bind(user.email_confirmed_at.map(|at| at.0))
                .bind(user.confirmation_sent_at.map(|at| at.0))
                .bind(user.is_anonymous)
                .bind(&user_metadata)
                .bind(&app_metadata)
                .bind(user.updated_at.0)
                .execute(&mut *tx)
                .await?
                .rows_affected();
            if let (1, Some(keep)) = (written, keep) {
                sqlx::query(crate::auth_sessions::DELETE_OTHERS).bind(user.id.0).bind(keep.0).execute(&mut *tx).await?;
            }
            Ok(written == 1)
        })
    }
}
