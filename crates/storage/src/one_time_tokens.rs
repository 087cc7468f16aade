//! One-time tokens in emails (`one_time_tokens`): a link, a code or both, to prove that an address belongs to a user.
//! Only hashes are stored. A user has at most one token of a kind: a new one replaces it, and using it deletes it.

use domain::{Timestamp, UserId};
use uuid::Uuid;

use crate::auth_codes::Challenge;
use crate::db_macros::{read, write};
use crate::{Error, OneTimeTokenRepository};

/// The purpose of a [`OneTimeToken`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// Confirms the address of a new account.
    Confirmation,
    /// Allows a sign-in without password, or a new password.
    Recovery,
    /// Confirms a change of address, from the current address.
    EmailChangeCurrent,
    /// Confirms a change of address, from the new address.
    EmailChangeNew,
    /// Confirms that a signed-in user is still the same person.
    Reauthentication,
}

impl TokenKind {
    const ALL: [Self; 5] =
        [Self::Confirmation, Self::Recovery, Self::EmailChangeCurrent, Self::EmailChangeNew, Self::Reauthentication];

    /// Returns the word in the database.
    pub fn word(self) -> &'static str {
        match self {
            Self::Confirmation => "confirmation",
            Self::Recovery => "recovery",
            Self::EmailChangeCurrent => "email_change_current",
            Self::EmailChangeNew => "email_change_new",
            Self::Reauthentication => "reauthentication",
        }
    }

    fn from_word(word: &str) -> Result<Self, Error> {
        let known = Self::ALL.into_iter().find(|kind| kind.word() == word);
        known.ok_or_else(|| Error::Corrupt(format!("{word} is no kind of one-time token")))
    }
}

/// A stored one-time token, see [`TokenKind`] for its use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OneTimeToken {
    /// Id of this token; a replacement has another one.
    pub id: Uuid,
    /// Owner.
    pub user: UserId,
    /// Purpose.
    pub kind: TokenKind,
    /// Email address it was sent to, in lower case.
    pub email: String,
    /// Hash of the link's token, if there is a link.
    pub link_hash: Option<Vec<u8>>,
    /// Hash of the code.
    pub code_hash: Vec<u8>,
    /// PKCE challenge of the client that requested the link, if it uses PKCE.
    pub challenge: Option<Challenge>,
    /// Time from which the token is invalid.
    pub expires_at: Timestamp,
    /// Whether it was sent for the most recent sign-up of the account.
    pub from_sign_up: bool,
}

#[derive(sqlx::FromRow)]
pub(crate) struct TokenRow {
    id: Uuid,
    user_id: Uuid,
    kind: String,
    email: String,
    link_hash: Option<Vec<u8>>,
    code_hash: Vec<u8>,
    challenge: Option<String>,
    challenge_method: Option<String>,
    expires_at: i64,
    from_sign_up: bool,
}

impl TryFrom<TokenRow> for OneTimeToken {
    type Error = Error;

    fn try_from(row: TokenRow) -> Result<Self, Error> {
        let challenge = match (row.challenge, row.challenge_method) {
            (Some(text), Some(method)) => Some(Challenge::from_columns(text, &method)?),
            _ => None,
        };
        Ok(Self {
            id: row.id,
            user: UserId(row.user_id),
            kind: TokenKind::from_word(&row.kind)?,
            email: row.email,
            link_hash: row.link_hash,
            code_hash: row.code_hash,
            challenge,
            expires_at: Timestamp(row.expires_at),
            from_sign_up: row.from_sign_up,
        })
    }
}

// A new code starts with all its attempts.
pub(crate) const REPLACE: &str = "INSERT INTO one_time_tokens
      (id, user_id, kind, email, link_hash, code_hash, attempts, challenge, challenge_method, expires_at, from_sign_up)
    VALUES (:id, :owner, :kind, :email, :link_hash, :code_hash, 0, :challenge, :challenge_method, :expires_at,
      :from_sign_up)
    ON CONFLICT (user_id, kind) DO UPDATE SET id = excluded.id, email = excluded.email, link_hash = excluded.link_hash,
      code_hash = excluded.code_hash, attempts = 0, challenge = excluded.challenge,
      challenge_method = excluded.challenge_method, expires_at = excluded.expires_at,
      from_sign_up = excluded.from_sign_up";

pub(crate) const DELETE_ONE: &str = "DELETE FROM one_time_tokens WHERE user_id = $1 AND id = $2";

pub(crate) const DELETE_ALL: &str = "DELETE FROM one_time_tokens WHERE user_id = $1";

const GET_BY_LINK: &str =
    "SELECT id, user_id, kind, email, link_hash, code_hash, challenge, challenge_method, expires_at, from_sign_up
    FROM one_time_tokens WHERE link_hash = $1";

// Counts the attempt and reads the token in one statement, so that parallel requests cannot exceed the limit.
const COUNT_ATTEMPT: &str = "UPDATE one_time_tokens SET attempts = attempts + 1
    WHERE email = $1 AND (kind = $2 OR kind = $3) AND attempts < $4
    RETURNING id, user_id, kind, email, link_hash, code_hash, challenge, challenge_method, expires_at, from_sign_up";

/// Stores a token in place of the previous one of its kind, within a transaction.
macro_rules! replace_token {
    ($tx:ident, $token:expr) => {{
        let token: &$crate::one_time_tokens::OneTimeToken = $token;
        $crate::named_values::query_named!(
            $crate::one_time_tokens::REPLACE,
            id = token.id,
            owner = token.user.0,
            kind = token.kind.word(),
            email = &token.email,
            link_hash = token.link_hash.as_deref(),
            code_hash = &token.code_hash,
            challenge = token.challenge.as_ref().map(|challenge| challenge.text.as_str()),
            challenge_method = token.challenge.as_ref().map(|challenge| challenge.method.word()),
            expires_at = token.expires_at.0,
            from_sign_up = token.from_sign_up
        )
        .execute(&mut *$tx)
        .await?
    }};
}

pub(crate) use replace_token;

impl OneTimeTokenRepository<'_> {
    /// Returns the token whose link has this hash. The request carries no session: the link identifies the user, who is
    /// in the result.
    pub async fn get(self, link_hash: &[u8]) -> Result<Option<OneTimeToken>, Error> {
        let row = read!(self.storage, |c| sqlx::query_as::<_, TokenRow>(GET_BY_LINK)
            .bind(link_hash)
            .fetch_optional(c)
            .await)?;
        row.map(OneTimeToken::try_from).transpose()
    }

    /// Returns the tokens of these kinds that were sent to an address, to compare a code with.
    ///
    /// Each call counts as an attempt. After `most` attempts a token is no longer returned, because codes are short
    /// enough to be guessed.
    pub async fn try_codes(self, email: &str, kinds: [TokenKind; 2], most: i64) -> Result<Vec<OneTimeToken>, Error> {
        let [first, second] = kinds.map(TokenKind::word);
        let rows = write!(self.storage, |c| sqlx::query_as::<_, TokenRow>(COUNT_ATTEMPT)
            .bind(email)
            .bind(first)
            .bind(second)
            .bind(most)
            .fetch_all(c)
            .await)?;
        rows.into_iter().map(OneTimeToken::try_from).collect()
    }
}
