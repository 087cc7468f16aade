//! Confirmed links whose sign-in waits for the program that began it (`auth_codes`): it gets a code, and exchanges it with
//! the verifier that only it knows (RFC 7636). Only hashes of codes are stored.

use domain::{Timestamp, UserId};
use uuid::Uuid;

use crate::dispatch::{read, transaction, write};
use crate::{Error, Store};

/// How a verifier becomes a challenge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChallengeMethod {
    /// By SHA-256 and base64url.
    S256,
    /// Not at all.
    Plain,
}

impl ChallengeMethod {
    /// The word in the database and, in any case of letters, of the protocol.
    pub fn word(self) -> &'static str {
        match self {
            Self::S256 => "s256",
            Self::Plain => "plain",
        }
    }
}

/// What a program showed before its verifier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Challenge {
    /// The challenge.
    pub text: String,
    /// How it was made.
    pub method: ChallengeMethod,
}

impl Challenge {
    pub(crate) fn from_columns(text: String, method: &str) -> Result<Self, Error> {
        let known = [ChallengeMethod::S256, ChallengeMethod::Plain].into_iter().find(|known| known.word() == method);
        let method = known.ok_or_else(|| Error::Corrupt(format!("{method} is no challenge method")))?;
        Ok(Self { text, method })
    }
}

/// A code that waits to be exchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthCode {
    /// Of the code.
    pub code_hash: Vec<u8>,
    /// Who signs in.
    pub user: UserId,
    /// What the person proved: the word of the access token's `amr`.
    pub method: String,
    /// What the verifier must fit.
    pub challenge: Challenge,
    /// From when on it is void.
    pub expires_at: Timestamp,
}

#[derive(sqlx::FromRow)]
struct CodeRow {
    code_hash: Vec<u8>,
    user_id: Uuid,
    method: String,
    challenge: String,
    challenge_method: String,
    expires_at: i64,
}

const INSERT: &str = "INSERT INTO auth_codes (code_hash, user_id, method, challenge, challenge_method, expires_at)
    VALUES ($1, $2, $3, $4, $5, $6)";

const DELETE_OLD: &str = "DELETE FROM auth_codes WHERE expires_at <= $1";

const GET: &str =
    "SELECT code_hash, user_id, method, challenge, challenge_method, expires_at FROM auth_codes WHERE code_hash = $1";

const DELETE: &str = "DELETE FROM auth_codes WHERE user_id = $1 AND code_hash = $2";

pub(crate) const VOID: &str = "DELETE FROM auth_codes WHERE user_id = $1";

impl Store {
    /// Stores a code, and forgets everybody's that expired before `old`.
    pub async fn insert_auth_code(&self, code: &AuthCode, old: Timestamp) -> Result<(), Error> {
        transaction!(self, |tx| {
            sqlx::query(DELETE_OLD).bind(old.0).execute(&mut *tx).await?;
            sqlx::query(INSERT)
                .bind(&code.code_hash)
                .bind(code.user.0)
                .bind(&code.method)
                .bind(&code.challenge.text)
                .bind(code.challenge.method.word())
                .bind(code.expires_at.0)
                .execute(&mut *tx)
                .await?;
            Ok(())
        })
    }

    /// The code with this hash. Who exchanges it cannot say who they are; the code says it for them, and the owner is in
    /// the answer.
    pub async fn get_auth_code(&self, code_hash: &[u8]) -> Result<Option<AuthCode>, Error> {
        let row = read!(self, |c| sqlx::query_as::<_, CodeRow>(GET).bind(code_hash).fetch_optional(c).await)?;
        row.map(|row| {
            Ok(AuthCode {
                code_hash: row.code_hash,
                user: UserId(row.user_id),
                method: row.method,
                challenge: Challenge::from_columns(row.challenge, &row.challenge_method)?,
                expires_at: Timestamp(row.expires_at),
            })
        })
        .transpose()
    }

    /// Uses a code up. Of several callers at the same time one is told `true`.
    pub async fn delete_auth_code(&self, owner: UserId, code_hash: &[u8]) -> Result<bool, Error> {
        let deleted = write!(self, |c| sqlx::query(DELETE)
            .bind(owner.0)
            .bind(code_hash)
            .execute(c)
            .await
            .map(|done| done.rows_affected()))?;
        Ok(deleted == 1)
    }
}
