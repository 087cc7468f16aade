//! What was mailed to show that an address is a person's (`one_time_tokens`): a link, a code or both. Only hashes of them
//! are stored. A person has one of a kind: a new one takes the place of the older, and what is used is gone.

use domain::{Timestamp, UserId};
use uuid::Uuid;

use crate::auth_codes::Challenge;
use crate::dispatch::{read, write};
use crate::{Error, Store};

/// What a one-time token proves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// The address of a new account.
    Confirmation,
    /// Who asks to be let in without a password, or to choose a new one.
    Recovery,
    /// That the owner of the present address wants another one.
    EmailChangeCurrent,
    /// That the new address is the person's.
    EmailChangeNew,
    /// That a signed-in person is still who they were.
    Reauthentication,
}

impl TokenKind {
    const ALL: [Self; 5] =
        [Self::Confirmation, Self::Recovery, Self::EmailChangeCurrent, Self::EmailChangeNew, Self::Reauthentication];

    /// The word in the database.
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

/// A one-time token as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OneTimeToken {
    /// This one, and not one that took its place.
    pub id: Uuid,
    /// Whose it is.
    pub user: UserId,
    /// What it proves.
    pub kind: TokenKind,
    /// Where it was sent, in lower case.
    pub email: String,
    /// Of the link, if there is one.
    pub link_hash: Option<Vec<u8>>,
    /// Of the code.
    pub code_hash: Vec<u8>,
    /// Of the program that asked for the link, if it uses PKCE.
    pub challenge: Option<Challenge>,
    /// From when on it is void.
    pub expires_at: Timestamp,
    /// Whether it was mailed for the latest sign-up of the account.
    pub from_sign_up: bool,
}

#[derive(sqlx::FromRow)]
struct TokenRow {
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

pub(crate) const REPLACE: &str = "INSERT INTO one_time_tokens
      (id, user_id, kind, email, link_hash, code_hash, tries, challenge, challenge_method, expires_at, from_sign_up)
    VALUES ($1, $2, $3, $4, $5, $6, 0, $7, $8, $9, $10)
    ON CONFLICT (user_id, kind) DO UPDATE SET id = excluded.id, email = excluded.email, link_hash = excluded.link_hash,
      code_hash = excluded.code_hash, tries = 0, challenge = excluded.challenge,
      challenge_method = excluded.challenge_method, expires_at = excluded.expires_at,
      from_sign_up = excluded.from_sign_up";

pub(crate) const SPEND: &str = "DELETE FROM one_time_tokens WHERE user_id = $1 AND id = $2";

pub(crate) const VOID: &str = "DELETE FROM one_time_tokens WHERE user_id = $1";

const GET_BY_LINK: &str =
    "SELECT id, user_id, kind, email, link_hash, code_hash, challenge, challenge_method, expires_at, from_sign_up
    FROM one_time_tokens WHERE link_hash = $1";

const TRY: &str = "UPDATE one_time_tokens SET tries = tries + 1
    WHERE email = $1 AND (kind = $2 OR kind = $3) AND tries < $4
    RETURNING id, user_id, kind, email, link_hash, code_hash, challenge, challenge_method, expires_at, from_sign_up";

/// Writes a token in the place of an older one of its kind; for a transaction's body.
macro_rules! replace_token {
    ($tx:ident, $token:expr) => {{
        let token: &$crate::one_time_tokens::OneTimeToken = $token;
        sqlx::query($crate::one_time_tokens::REPLACE)
            .bind(token.id)
            .bind(token.user.0)
            .bind(token.kind.word())
            .bind(&token.email)
            .bind(token.link_hash.as_deref())
            .bind(&token.code_hash)
            .bind(token.challenge.as_ref().map(|challenge| challenge.text.as_str()))
            .bind(token.challenge.as_ref().map(|challenge| challenge.method.word()))
            .bind(token.expires_at.0)
            .bind(token.from_sign_up)
            .execute(&mut *$tx)
            .await?
    }};
}

pub(crate) use replace_token;

impl Store {
    /// The token whose link has this hash. Whoever follows a link cannot say who they are; the link says it for them, and
    /// the owner is in the answer.
    pub async fn get_one_time_token(&self, link_hash: &[u8]) -> Result<Option<OneTimeToken>, Error> {
        let row = read!(self, |c| sqlx::query_as::<_, TokenRow>(GET_BY_LINK).bind(link_hash).fetch_optional(c).await)?;
        row.map(OneTimeToken::try_from).transpose()
    }

    /// The tokens of these kinds that were sent to an address, for comparing a code with. Each that is handed out is
    /// counted, and none is after `most` times: a code is short enough to be guessed.
    pub async fn try_one_time_codes(
        &self,
        email: &str,
        kinds: [TokenKind; 2],
        most: i64,
    ) -> Result<Vec<OneTimeToken>, Error> {
        let [first, second] = kinds.map(TokenKind::word);
        let rows = write!(self, |c| sqlx::query_as::<_, TokenRow>(TRY)
            .bind(email)
            .bind(first)
            .bind(second)
            .bind(most)
            .fetch_all(c)
            .await)?;
        rows.into_iter().map(OneTimeToken::try_from).collect()
    }
}
