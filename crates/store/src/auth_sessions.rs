//! Sign-ins (`auth_sessions`): one row for each device on which a person is signed in.

use domain::{AuthSessionId, Timestamp, UserId};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::dispatch::{read, transaction, write};
use crate::{Error, JsonText, Store};

/// One proof that the person gave of who they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthMethod {
    /// `password`, for instance; the word of the access token's `amr`.
    pub method: String,
    /// When, in seconds since 1970.
    pub timestamp: i64,
}

/// A sign-in on one device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthSession {
    /// The sign-in.
    pub id: AuthSessionId,
    /// Whose it is.
    pub user: UserId,
    /// How often the refresh token was rotated; the token that carries this number is the good one.
    pub refresh_counter: i64,
    /// When it was last rotated.
    pub refreshed_at: Timestamp,
    /// When the sign-in was first used with the answer of a rotation; before [`Self::refreshed_at`] as long as nobody used
    /// the answer of the last one.
    pub confirmed_at: Timestamp,
    /// How sure the server is of the person: `aal1`, or `aal2` with a second factor.
    pub aal: String,
    /// What the person proved, newest first.
    pub amr: Vec<AuthMethod>,
    /// What the browser calls itself.
    pub user_agent: Option<String>,
    /// When the person signed in.
    pub created_at: Timestamp,
}

/// A sign-in as its owner sees it: a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// The sign-in.
    pub id: AuthSessionId,
    /// What the browser calls itself.
    pub user_agent: Option<String>,
    /// `aal1`, or `aal2` with a second factor.
    pub aal: String,
    /// When the person signed in.
    pub created_at: Timestamp,
    /// When it was last used, as exactly as [`Store::touch_auth_session`] is called.
    pub used_at: Timestamp,
}

/// What every call of a sign-in has to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// The person has a verified second factor, and this sign-in was made without it.
    pub lacks_factor: bool,
    /// The administrator keeps the person out until then.
    pub banned_until: Option<Timestamp>,
    /// When it was last used, as far as was written down.
    pub used_at: Timestamp,
    /// When the refresh token was last rotated.
    pub refreshed_at: Timestamp,
    /// Whether the answer of the last rotation was used: [`Store::confirm_auth_session`].
    pub is_confirmed: bool,
}

#[derive(sqlx::FromRow)]
pub(crate) struct SessionRow {
    id: Uuid,
    user_id: Uuid,
    refresh_counter: i64,
    refreshed_at: i64,
    confirmed_at: i64,
    aal: String,
    pub(crate) amr: JsonText<Vec<AuthMethod>>,
    user_agent: Option<String>,
    created_at: i64,
}

impl From<SessionRow> for AuthSession {
    fn from(row: SessionRow) -> Self {
        Self {
            id: AuthSessionId(row.id),
            user: UserId(row.user_id),
            refresh_counter: row.refresh_counter,
            refreshed_at: Timestamp(row.refreshed_at),
            confirmed_at: Timestamp(row.confirmed_at),
            aal: row.aal,
            amr: row.amr.0,
            user_agent: row.user_agent,
            created_at: Timestamp(row.created_at),
        }
    }
}

const INSERT: &str = "INSERT INTO auth_sessions
      (id, user_id, refresh_counter, refreshed_at, aal, amr, user_agent, created_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";

const SIGNED_IN: &str = "UPDATE users SET last_sign_in_at = $2 WHERE id = $1";

const GET: &str = "SELECT id, user_id, refresh_counter, refreshed_at, confirmed_at, aal, amr, user_agent, created_at
    FROM auth_sessions WHERE id = $1";

const STANDING: &str = "SELECT s.aal <> 'aal2' AND EXISTS
      (SELECT 1 FROM mfa_factors f WHERE f.user_id = s.user_id AND f.status = 'verified') AS lacks_factor,
      u.banned_until, s.created_at, s.refreshed_at, s.used_at, s.confirmed_at
    FROM auth_sessions s JOIN users u ON u.id = s.user_id WHERE s.id = $1 AND s.user_id = $2";

const LIST: &str =
    "SELECT id, user_agent, aal, created_at, refreshed_at, used_at FROM auth_sessions WHERE user_id = $1";

const TOUCH: &str = "UPDATE auth_sessions SET used_at = $3 WHERE id = $1 AND user_id = $2 AND used_at < $3";

const ADVANCE: &str = "UPDATE auth_sessions SET refresh_counter = refresh_counter + 1, refreshed_at = $4
    WHERE id = $1 AND user_id = $2 AND refresh_counter = $3";

const CONFIRM: &str = "UPDATE auth_sessions SET confirmed_at = $3
    WHERE id = $1 AND user_id = $2 AND confirmed_at < refreshed_at AND refreshed_at <= $3";

const GET_AMR: &str = "SELECT amr FROM auth_sessions WHERE id = $1 AND user_id = $2";

pub(crate) const SET_AMR: &str = "UPDATE auth_sessions SET amr = $3 WHERE id = $1 AND user_id = $2";

const DELETE: &str = "DELETE FROM auth_sessions WHERE user_id = $1 AND id = $2";

pub(crate) const DELETE_ALL: &str = "DELETE FROM auth_sessions WHERE user_id = $1";

pub(crate) const DELETE_OTHERS: &str = "DELETE FROM auth_sessions WHERE user_id = $1 AND id <> $2";

impl Store {
    /// Opens a sign-in and notes its time with the person.
    pub async fn insert_auth_session(&self, session: &AuthSession) -> Result<(), Error> {
        let amr = JsonText(&session.amr);
        transaction!(self, |tx| {
            sqlx::query(INSERT)
                .bind(session.id.0)
                .bind(session.user.0)
                .bind(session.refresh_counter)
                .bind(session.refreshed_at.0)
                .bind(&session.aal)
                .bind(&amr)
                .bind(session.user_agent.as_deref())
                .bind(session.created_at.0)
                .execute(&mut *tx)
                .await?;
            sqlx::query(SIGNED_IN).bind(session.user.0).bind(session.created_at.0).execute(&mut *tx).await?;
            Ok(())
        })
    }

    /// A sign-in by its id alone: for a refresh token, which is what says whose it is.
    pub async fn get_auth_session(&self, session: AuthSessionId) -> Result<Option<AuthSession>, Error> {
        let row = read!(self, |c| sqlx::query_as::<_, SessionRow>(GET).bind(session.0).fetch_optional(c).await)?;
        Ok(row.map(AuthSession::from))
    }

    /// How a person's sign-in stands; `None` when it has ended.
    pub async fn get_standing(&self, owner: UserId, session: AuthSessionId) -> Result<Option<Standing>, Error> {
        let row = read!(self, |c| sqlx::query_as::<_, (bool, Option<i64>, i64, i64, i64, i64)>(STANDING)
            .bind(session.0)
            .bind(owner.0)
            .fetch_optional(c)
            .await)?;
        Ok(row.map(|(lacks_factor, banned_until, created_at, refreshed_at, used_at, confirmed_at)| Standing {
            lacks_factor,
            banned_until: banned_until.map(Timestamp),
            used_at: Timestamp(created_at.max(refreshed_at).max(used_at)),
            refreshed_at: Timestamp(refreshed_at),
            is_confirmed: confirmed_at >= refreshed_at,
        }))
    }

    /// A person's sign-ins, last used first.
    pub async fn list_devices(&self, owner: UserId) -> Result<Vec<Device>, Error> {
        type Row = (Uuid, Option<String>, String, i64, i64, i64);
        let rows = read!(self, |c| sqlx::query_as::<_, Row>(LIST).bind(owner.0).fetch_all(c).await)?;
        let mut devices: Vec<Device> = rows
            .into_iter()
            .map(|(id, user_agent, aal, created_at, refreshed_at, used_at)| Device {
                id: AuthSessionId(id),
                user_agent,
                aal,
                created_at: Timestamp(created_at),
                used_at: Timestamp(created_at.max(refreshed_at).max(used_at)),
            })
            .collect();
        devices.sort_by_key(|device| std::cmp::Reverse((device.used_at, device.id)));
        Ok(devices)
    }

    /// Notes that a sign-in was used.
    pub async fn touch_auth_session(&self, owner: UserId, session: AuthSessionId, now: Timestamp) -> Result<(), Error> {
        write!(self, |c| sqlx::query(TOUCH).bind(session.0).bind(owner.0).bind(now.0).execute(c).await.map(|_| ()))?;
        Ok(())
    }

    /// Rotates the refresh token if it is still the one that carries `counter`. Of several callers at the same time one
    /// is told `true`.
    pub async fn advance_auth_session(
        &self,
        owner: UserId,
        session: AuthSessionId,
        counter: i64,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let advanced = write!(self, |c| sqlx::query(ADVANCE)
            .bind(session.0)
            .bind(owner.0)
            .bind(counter)
            .bind(now.0)
            .execute(c)
            .await
            .map(|done| done.rows_affected()))?;
        Ok(advanced == 1)
    }

    /// Records that the answer of the last rotation arrived: its access token was used.
    pub async fn confirm_auth_session(
        &self,
        owner: UserId,
        session: AuthSessionId,
        now: Timestamp,
    ) -> Result<(), Error> {
        write!(self, |c| sqlx::query(CONFIRM).bind(session.0).bind(owner.0).bind(now.0).execute(c).await.map(|_| ()))?;
        Ok(())
    }

    /// Records that the user of a sign-in has just given another proof of identity, `method`. Returns whether the sign-in
    /// exists.
    pub async fn record_proof(
        &self,
        owner: UserId,
        session: AuthSessionId,
        method: &str,
        now: Timestamp,
    ) -> Result<bool, Error> {
        transaction!(self, |tx| {
            let row: Option<(JsonText<Vec<AuthMethod>>,)> =
                sqlx::query_as(GET_AMR).bind(session.0).bind(owner.0).fetch_optional(&mut *tx).await?;
            let Some((mut amr,)) = row else { return Ok(false) };
            amr.0.retain(|proof| proof.method != method);
            amr.0.insert(0, AuthMethod { method: method.to_owned(), timestamp: now.as_seconds() });
            sqlx::query(SET_AMR).bind(session.0).bind(owner.0).bind(&amr).execute(&mut *tx).await?;
            Ok(true)
        })
    }

    /// Ends one sign-in of a person. Answers whether it was open.
    pub async fn delete_auth_session(&self, owner: UserId, session: AuthSessionId) -> Result<bool, Error> {
        let deleted = write!(self, |c| sqlx::query(DELETE)
            .bind(owner.0)
            .bind(session.0)
            .execute(c)
            .await
            .map(|done| done.rows_affected()))?;
        Ok(deleted == 1)
    }

    /// Ends every sign-in of a person.
    pub async fn delete_auth_sessions(&self, owner: UserId) -> Result<(), Error> {
        write!(self, |c| sqlx::query(DELETE_ALL).bind(owner.0).execute(c).await.map(|_| ()))?;
        Ok(())
    }

    /// Ends every sign-in of a person but one.
    pub async fn delete_other_auth_sessions(&self, owner: UserId, keep: AuthSessionId) -> Result<(), Error> {
        write!(self, |c| sqlx::query(DELETE_OTHERS).bind(owner.0).bind(keep.0).execute(c).await.map(|_| ()))?;
        Ok(())
    }
}
