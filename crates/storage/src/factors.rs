//! Second factors (`mfa_factors`) and their challenges (`mfa_challenges`).

use domain::{AuthSessionId, ChallengeId, FactorId, Timestamp, UserId};
use uuid::Uuid;

use crate::audit_events::{NewAuditEvent, insert_events};
use crate::auth_sessions::{AuthMethod, AuthSession};
use crate::db_macros::{read, transaction, write};
use crate::named_values::query_named;
use crate::{Error, FactorRepository, recovery_codes, users};

/// Method of [`AuthMethod`] for a code of an authenticator app.
pub const TOTP: &str = "totp";
/// Method of [`AuthMethod`] for a security key, as in GoTrue.
pub const WEBAUTHN: &str = "mfa/webauthn";
/// Method of [`AuthMethod`] for a recovery code, as in GoTrue.
pub const RECOVERY_CODE: &str = "mfa/recovery_code";

/// Kind of a second factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FactorKind {
    /// Authenticator app, whose codes the user types.
    Totp,
    /// Security key, which signs challenges.
    WebAuthn,
}

impl FactorKind {
    /// Returns the name of the kind, in the database as for clients.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Totp => "totp",
            Self::WebAuthn => "webauthn",
        }
    }
}

/// A second factor as its owner may see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Factor {
    /// Its id.
    pub id: FactorId,
    /// Name; unique per user.
    pub friendly_name: String,
    /// Its kind.
    pub kind: FactorKind,
    /// Whether the user has used it once. An unverified factor protects nothing.
    pub is_verified: bool,
    /// Time of the last challenge.
    pub last_challenged_at: Option<Timestamp>,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

#[derive(sqlx::FromRow)]
struct FactorRow {
    id: Uuid,
    friendly_name: String,
    factor_type: String,
    status: String,
    last_challenged_at: Option<i64>,
    created_at: i64,
    updated_at: i64,
}

impl From<FactorRow> for Factor {
    fn from(row: FactorRow) -> Self {
        Self {
            id: FactorId(row.id),
            friendly_name: row.friendly_name,
            kind: if row.factor_type == FactorKind::Totp.as_str() { FactorKind::Totp } else { FactorKind::WebAuthn },
            is_verified: row.status == "verified",
            last_challenged_at: row.last_challenged_at.map(Timestamp),
            created_at: Timestamp(row.created_at),
            updated_at: Timestamp(row.updated_at),
        }
    }
}

/// The input of [`FactorRepository::insert`](crate::FactorRepository::insert).
#[derive(Debug)]
pub struct NewFactor {
    /// Its id.
    pub id: FactorId,
    /// Name.
    pub friendly_name: String,
    /// TOTP secret of an authenticator app, encrypted; `None` for a security key.
    pub secret: Option<Vec<u8>>,
}

/// The input of [`FactorRepository::insert_challenge`](crate::FactorRepository::insert_challenge).
#[derive(Debug)]
pub struct NewChallenge<'a> {
    /// Its id.
    pub id: ChallengeId,
    /// IP address of the client that requests it.
    pub address: &'a str,
    /// Random bytes for a security key to sign.
    pub bytes: Option<&'a [u8]>,
}

/// A challenge: a request to enter a code, or to use a security key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Challenge {
    /// IP address of the client that requested it.
    pub address: String,
    /// Random bytes for a security key to sign.
    pub bytes: Option<Vec<u8>>,
    /// Whether it was answered.
    pub is_answered: bool,
    /// Time of creation.
    pub created_at: Timestamp,
}

const LIST: &str = "SELECT id, friendly_name, factor_type, status, last_challenged_at, created_at, updated_at
    FROM mfa_factors WHERE user_id = $1 ORDER BY created_at, id";

// A factor with a recent challenge is still being set up.
const DELETE_ABANDONED: &str = "DELETE FROM mfa_factors
    WHERE user_id = $1 AND status = 'unverified' AND created_at < $2
      AND NOT EXISTS (SELECT 1 FROM mfa_challenges c WHERE c.factor_id = mfa_factors.id AND c.created_at >= $2)";

const COUNT: &str = "SELECT COUNT(*) FROM mfa_factors WHERE user_id = $1";

const INSERT: &str = "INSERT INTO mfa_factors
      (id, user_id, friendly_name, factor_type, status, secret, last_step, created_at, updated_at)
    VALUES (:id, :owner, :friendly_name, :kind, 'unverified', :secret, 0, :now, :now)";

const GET_SECRET: &str = "SELECT secret FROM mfa_factors WHERE id = $1 AND user_id = $2 AND factor_type = 'totp'";

const CHALLENGED: &str = "UPDATE mfa_factors SET last_challenged_at = $3 WHERE id = $1 AND user_id = $2";

const DELETE_OLD_CHALLENGES: &str = "DELETE FROM mfa_challenges WHERE factor_id = $1 AND created_at < $2";

const INSERT_CHALLENGE: &str =
    "INSERT INTO mfa_challenges (id, factor_id, address, challenge, created_at) VALUES ($1, $2, $3, $4, $5)";

const GET_CHALLENGE: &str = "SELECT c.address, c.challenge, c.verified_at, c.created_at FROM mfa_challenges c
    JOIN mfa_factors f ON f.id = c.factor_id WHERE c.id = $1 AND f.id = $2 AND f.user_id = $3";

const DELETE_CHALLENGE: &str = "DELETE FROM mfa_challenges WHERE id = $1
    AND EXISTS (SELECT 1 FROM mfa_factors f WHERE f.id = mfa_challenges.factor_id AND f.user_id = $2)";

/// Accepts a time step only if it is later than the last one, so that a code works only once.
const USE_STEP: &str = "UPDATE mfa_factors SET status = 'verified', last_step = $3, updated_at = $4
    WHERE id = $1 AND user_id = $2 AND factor_type = 'totp' AND last_step < $3";

/// Compare and swap: of parallel requests with the same challenge, one succeeds.
pub(crate) const ANSWER: &str = "UPDATE mfa_challenges SET verified_at = $4
    WHERE id = $1 AND factor_id = $2 AND verified_at IS NULL
      AND EXISTS (SELECT 1 FROM mfa_factors f WHERE f.id = mfa_challenges.factor_id AND f.user_id = $3)";

/// Raises a session to `aal2`. Adds two rotations, so that the refresh token from before is not accepted as the
/// previous one, which may be exchanged for the newest.
pub(crate) const RAISE_LEVEL: &str =
    "UPDATE auth_sessions SET aal = 'aal2', factor_id = $3, refresh_counter = refresh_counter + 2
    WHERE id = $1 AND user_id = $2
    RETURNING id, user_id, refresh_counter, refreshed_at, confirmed_at, aal, amr, user_agent, created_at";

pub(crate) const DELETE_LOWER_SESSIONS: &str = "DELETE FROM auth_sessions WHERE user_id = $1 AND aal <> 'aal2'";

pub(crate) const DELETE_UNVERIFIED: &str =
    "DELETE FROM mfa_factors WHERE user_id = $1 AND factor_type = $2 AND status = 'unverified'";

const DELETE: &str = "DELETE FROM mfa_factors WHERE id = $1 AND user_id = $2";

// `factor_id` is not a foreign key, so that sessions have to be lowered explicitly.
pub(crate) const LOWER_LEVEL: &str = "UPDATE auth_sessions SET aal = 'aal1', factor_id = NULL
    WHERE user_id = $1 AND factor_id = $2 RETURNING id, amr";

/// A code that is right for a factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AcceptedCode {
    /// The factor.
    pub factor: FactorId,
    /// Challenge that the code answers.
    pub challenge: ChallengeId,
    /// Time step of the code.
    pub step: i64,
}

/// Adds the proof of a second factor to a session, in place of an earlier one.
pub(crate) fn replace_factor_proof(amr: &mut Vec<AuthMethod>, method: &str, now: Timestamp) {
    remove_factor_proof(amr);
    amr.insert(0, AuthMethod { method: method.to_owned(), timestamp: now.as_seconds() });
}

/// Raises a session to `aal2` by a factor or a set of recovery codes, and deletes the user's other sessions below it,
/// within a transaction. Returns the session; a session that has ended is an error, which rolls the transaction back.
macro_rules! raise_session {
    ($tx:ident, $owner:expr, $session:expr, $factor:expr, $method:expr, $now:expr) => {{
        let mut raised: $crate::auth_sessions::SessionRow = sqlx::query_as($crate::factors::RAISE_LEVEL)
            .bind($session.0)
            .bind($owner.0)
            .bind($factor)
            .fetch_one(&mut *$tx)
            .await?;
        $crate::factors::replace_factor_proof(&mut raised.amr.0, $method, $now);
        let set = sqlx::query($crate::auth_sessions::SET_AMR).bind($session.0).bind($owner.0).bind(&raised.amr);
        set.execute(&mut *$tx).await?;
        // A session without the second factor may belong to someone who knows only the password.
        sqlx::query($crate::factors::DELETE_LOWER_SESSIONS).bind($owner.0).execute(&mut *$tx).await?;
        raised
    }};
}
pub(crate) use raise_session;

/// Removes the proof of a second factor from a session.
pub(crate) fn remove_factor_proof(amr: &mut Vec<AuthMethod>) {
    amr.retain(|proof| ![TOTP, WEBAUTHN, RECOVERY_CODE].contains(&proof.method.as_str()));
}

/// Lowers the sessions that a factor or a set of recovery codes has raised to `aal1`, within a transaction.
macro_rules! lower_sessions {
    ($tx:ident, $owner:expr, $factor:expr) => {{
        let lowered: Vec<(uuid::Uuid, $crate::JsonText<Vec<$crate::auth_sessions::AuthMethod>>)> =
            sqlx::query_as($crate::factors::LOWER_LEVEL).bind($owner.0).bind($factor).fetch_all(&mut *$tx).await?;
        for (session, mut amr) in lowered {
            $crate::factors::remove_factor_proof(&mut amr.0);
            let set = sqlx::query($crate::auth_sessions::SET_AMR).bind(session).bind($owner.0).bind(&amr);
            set.execute(&mut *$tx).await?;
        }
    }};
}
pub(crate) use lower_sessions;

impl FactorRepository<'_> {
    /// Returns the [`Factor`]s of a user, oldest first.
    pub async fn list(self, owner: UserId) -> Result<Vec<Factor>, Error> {
        let rows = read!(self.storage, |c| sqlx::query_as::<_, FactorRow>(LIST).bind(owner.0).fetch_all(c).await)?;
        Ok(rows.into_iter().map(Factor::from).collect())
    }

    /// Stores a new factor. Returns `false` if the user already has `most`. Deletes unverified factors from before
    /// `abandoned` first.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`] if another factor of the user has the same name.
    pub async fn insert(
        self,
        owner: UserId,
        factor: &NewFactor,
        most: i64,
        abandoned: Timestamp,
        now: Timestamp,
    ) -> Result<bool, Error> {
        transaction!(self.storage, |tx| {
            // The lock makes the count below reliable.
            if sqlx::query(users::LOCK).bind(owner.0).execute(&mut *tx).await?.rows_affected() == 0 {
                return Err(Error::NotFound);
            }
            sqlx::query(DELETE_ABANDONED).bind(owner.0).bind(abandoned.0).execute(&mut *tx).await?;
            let (count,): (i64,) = sqlx::query_as(COUNT).bind(owner.0).fetch_one(&mut *tx).await?;
            if count >= most {
                return Ok(false);
            }
            let kind = if factor.secret.is_some() { FactorKind::Totp } else { FactorKind::WebAuthn };
            query_named!(
                INSERT,
                id = factor.id.0,
                owner = owner.0,
                friendly_name = &factor.friendly_name,
                kind = kind.as_str(),
                secret = factor.secret.as_deref().unwrap_or_default(),
                now = now.0
            )
            .execute(&mut *tx)
            .await?;
            Ok(true)
        })
    }

    /// Returns the secret of an authenticator app, encrypted.
    pub async fn get_secret(self, owner: UserId, factor: FactorId) -> Result<Option<Vec<u8>>, Error> {
        let row = read!(self.storage, |c| sqlx::query_as::<_, (Vec<u8>,)>(GET_SECRET)
            .bind(factor.0)
            .bind(owner.0)
            .fetch_optional(c)
            .await)?;
        Ok(row.map(|(secret,)| secret))
    }

    /// Stores a challenge for a factor. Deletes those from before `forgotten`.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if the factor does not belong to the owner.
    pub async fn insert_challenge(
        self,
        owner: UserId,
        factor: FactorId,
        challenge: &NewChallenge<'_>,
        forgotten: Timestamp,
        now: Timestamp,
    ) -> Result<(), Error> {
        transaction!(self.storage, |tx| {
            let challenged = sqlx::query(CHALLENGED).bind(factor.0).bind(owner.0).bind(now.0).execute(&mut *tx).await?;
            if challenged.rows_affected() == 0 {
                return Err(Error::NotFound);
            }
            sqlx::query(DELETE_OLD_CHALLENGES).bind(factor.0).bind(forgotten.0).execute(&mut *tx).await?;
            sqlx::query(INSERT_CHALLENGE)
                .bind(challenge.id.0)
                .bind(factor.0)
                .bind(challenge.address)
                .bind(challenge.bytes)
                .bind(now.0)
                .execute(&mut *tx)
                .await?;
            Ok(())
        })
    }

    /// Returns a [`Challenge`] of a factor.
    pub async fn get_challenge(
        self,
        owner: UserId,
        factor: FactorId,
        challenge: ChallengeId,
    ) -> Result<Option<Challenge>, Error> {
        let row =
            read!(self.storage, |c| sqlx::query_as::<_, (String, Option<Vec<u8>>, Option<i64>, i64)>(GET_CHALLENGE)
                .bind(challenge.0)
                .bind(factor.0)
                .bind(owner.0)
                .fetch_optional(c)
                .await)?;
        Ok(row.map(|(address, bytes, answered_at, created_at)| Challenge {
            address,
            bytes,
            is_answered: answered_at.is_some(),
            created_at: Timestamp(created_at),
        }))
    }

    /// Deletes a [`Challenge`] of a user.
    pub async fn delete_challenge(self, owner: UserId, challenge: ChallengeId) -> Result<(), Error> {
        write!(self.storage, |c| sqlx::query(DELETE_CHALLENGE)
            .bind(challenge.0)
            .bind(owner.0)
            .execute(c)
            .await
            .map(|_| ()))?;
        Ok(())
    }

    /// Accepts the code of a time step for a challenge, completely or not at all: the factor becomes verified, the
    /// session is raised to `aal2` and returned, and the user's other sessions below `aal2` and unverified authenticator
    /// apps are deleted.
    ///
    /// The audit `events` are stored with it. Returns `None` if a code of this or a later step was used before, the
    /// challenge was already answered, or the session has ended.
    pub async fn verify(
        self,
        owner: UserId,
        session: AuthSessionId,
        code: AcceptedCode,
        now: Timestamp,
        events: &[NewAuditEvent],
    ) -> Result<Option<AuthSession>, Error> {
        let AcceptedCode { factor, challenge, step } = code;
        let raised = transaction!(self.storage, |tx| {
            let used =
                sqlx::query(USE_STEP).bind(factor.0).bind(owner.0).bind(step).bind(now.0).execute(&mut *tx).await?;
            let answered = sqlx::query(ANSWER).bind(challenge.0).bind(factor.0).bind(owner.0).bind(now.0);
            // The error rolls back both updates: a step must not be used up without a challenge.
            if used.rows_affected() == 0 || answered.execute(&mut *tx).await?.rows_affected() == 0 {
                return Err(Error::NotFound);
            }
            let raised = raise_session!(tx, owner, session, factor.0, TOTP, now);
            let unverified = sqlx::query(DELETE_UNVERIFIED).bind(owner.0).bind(FactorKind::Totp.as_str());
            unverified.execute(&mut *tx).await?;
            insert_events!(tx, events);
            Ok(raised)
        });
        match raised {
            Ok(raised) => Ok(Some(raised.into())),
            Err(Error::NotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Deletes a factor and stores audit events, and with the last factor the recovery codes. Sessions that any of these
    /// raised return to `aal1`. Returns whether the factor existed; otherwise no event is stored.
    pub async fn delete(self, owner: UserId, factor: FactorId, events: &[NewAuditEvent]) -> Result<bool, Error> {
        transaction!(self.storage, |tx| {
            let deleted = sqlx::query(DELETE).bind(factor.0).bind(owner.0).execute(&mut *tx).await?.rows_affected();
            lower_sessions!(tx, owner, factor.0);
            if deleted == 0 {
                return Ok(false);
            }
            // Without a factor, there is nothing that recovery codes could replace.
            let useless: Option<(Uuid,)> =
                sqlx::query_as(recovery_codes::DELETE_USELESS_SET).bind(owner.0).fetch_optional(&mut *tx).await?;
            if let Some((set,)) = useless {
                lower_sessions!(tx, owner, set);
            }
            insert_events!(tx, events);
            Ok(true)
        })
    }
}
