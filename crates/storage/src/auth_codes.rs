//! Authorization codes of the PKCE flow (`auth_codes`, RFC 7636): a client that started a sign-in by email receives a
//! code, and exchanges it together with the verifier that only it knows. Only hashes of codes are stored.

use domain::{Timestamp, UserId};
use uuid::Uuid;

use crate::auth_sessions::ProviderSession;
use crate::db_macros::{read, transaction, write};
use crate::named_values::query_named;
use crate::{AuthCodeRepository, Error};

/// Lifetime of a code, in seconds. The value is GoTrue's default.
const LIFETIME_SECONDS: i64 = 300;

/// The method by which a PKCE challenge is derived from the verifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChallengeMethod {
    /// SHA-256 and base64url.
    S256,
    /// The verifier itself.
    Plain,
}

impl ChallengeMethod {
    /// Returns the word in the database. The protocol uses it in any letter case.
    pub fn word(self) -> &'static str {
        match self {
            Self::S256 => "s256",
            Self::Plain => "plain",
        }
    }
}

/// A PKCE challenge: what a client reveals of its verifier, see [`ChallengeMethod`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Challenge {
    /// Challenge text.
    pub text: String,
    /// Method of its derivation.
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
    /// Hash of the code.
    pub code_hash: Vec<u8>,
    /// User who signs in.
    pub user: UserId,
    /// Method of the proof of identity, as in the access token's `amr`.
    pub method: String,
    /// Session at the identity provider in which the user proved it.
    pub provider_session: Option<ProviderSession>,
    /// Challenge that the verifier must match.
    pub challenge: Challenge,
    /// Time from which the code is invalid.
    pub expires_at: Timestamp,
}

#[derive(sqlx::FromRow)]
struct CodeRow {
    code_hash: Vec<u8>,
    user_id: Uuid,
    method: String,
    provider_issuer: Option<String>,
    provider_session_id: Option<String>,
    challenge: String,
    challenge_method: String,
    expires_at: i64,
}

const INSERT: &str = "INSERT INTO auth_codes
      (code_hash, user_id, method, provider_issuer, provider_session_id, challenge, challenge_method, expires_at)
    VALUES (:code_hash, :owner, :method, :provider_issuer, :provider_session_id, :challenge, :challenge_method,
      :expires_at)";

// Runs with each insert, so that no background job is needed.
const DELETE_OLD: &str = "DELETE FROM auth_codes WHERE expires_at <= $1";

const GET: &str = "SELECT code_hash, user_id, method, provider_issuer, provider_session_id, challenge,
      challenge_method, expires_at
    FROM auth_codes WHERE code_hash = $1";

const DELETE: &str = "DELETE FROM auth_codes WHERE user_id = $1 AND code_hash = $2";

pub(crate) const DELETE_ALL: &str = "DELETE FROM auth_codes WHERE user_id = $1";

pub(crate) const DELETE_BY_METHOD: &str =
    "DELETE FROM auth_codes WHERE user_id = $1 AND method = $2 AND expires_at <= $3";

// A code from an unknown session at the provider may be from this one.
pub(crate) const DELETE_BY_PROVIDER_SESSION: &str = "DELETE FROM auth_codes
    WHERE user_id = $1 AND method = $2 AND expires_at <= $3
      AND (provider_session_id IS NULL OR provider_issuer = $4 AND provider_session_id = $5)";

/// Returns when a code expires that is issued at a time.
pub fn expiry(issued_at: Timestamp) -> Timestamp {
    issued_at.plus_seconds(LIFETIME_SECONDS)
}

impl AuthCodeRepository<'_> {
    /// Stores a code. Deletes the codes of all users that expired before `old`.
    pub async fn insert(self, code: &AuthCode, old: Timestamp) -> Result<(), Error> {
        let provider_session = code.provider_session.as_ref();
        transaction!(self.storage, |tx| {
            sqlx::query(DELETE_OLD).bind(old.0).execute(&mut *tx).await?;
            query_named!(
                INSERT,
                code_hash = &code.code_hash,
                owner = code.user.0,
                method = &code.method,
                provider_issuer = provider_session.map(|session| session.issuer.as_str()),
                provider_session_id = provider_session.map(|session| session.id.as_str()),
                challenge = &code.challenge.text,
                challenge_method = code.challenge.method.word(),
                expires_at = code.expires_at.0
            )
            .execute(&mut *tx)
            .await?;
            Ok(())
        })
    }

    /// Returns the code with this hash. The request carries no session: the code identifies the user, who is in the
    /// result.
    pub async fn get(self, code_hash: &[u8]) -> Result<Option<AuthCode>, Error> {
        let row = read!(self.storage, |c| sqlx::query_as::<_, CodeRow>(GET).bind(code_hash).fetch_optional(c).await)?;
        row.map(|row| {
            Ok(AuthCode {
                code_hash: row.code_hash,
                user: UserId(row.user_id),
                method: row.method,
                provider_session: ProviderSession::from_columns(row.provider_issuer, row.provider_session_id),
                challenge: Challenge::from_columns(row.challenge, &row.challenge_method)?,
                expires_at: Timestamp(row.expires_at),
            })
        })
        .transpose()
    }

    /// Deletes a code in order to use it. Returns `true` to only one of several parallel callers.
    pub async fn delete(self, owner: UserId, code_hash: &[u8]) -> Result<bool, Error> {
        let deleted = write!(self.storage, |c| sqlx::query(DELETE)
            .bind(owner.0)
            .bind(code_hash)
            .execute(c)
            .await
            .map(|done| done.rows_affected()))?;
        Ok(deleted == 1)
    }
}
