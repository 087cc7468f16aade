//! Auth sessions (`auth_sessions`): one per device on which a user is signed in.

use domain::{AuthSessionId, Timestamp, UserId};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::audit_events::{NewAuditEvent, insert_events};
use crate::db_macros::{read, transaction, write};
use crate::named_values::query_named;
use crate::{AuthSessionRepository, Error, JsonText, auth_codes};

/// A proof of identity that the user gave during sign-in, an entry of `amr`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthMethod {
    /// Method as in the access token's `amr`, such as `password`.
    pub method: String,
    /// Time in seconds since 1970.
    pub timestamp: i64,
}

/// A sign-in of a user on one device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthSession {
    /// Its id.
    pub id: AuthSessionId,
    /// User.
    pub user: UserId,
    /// Number of rotations of the refresh token. Only the token with this number is valid.
    pub refresh_counter: i64,
    /// Time of the last rotation.
    pub refreshed_at: Timestamp,
    /// Time at which the tokens of a rotation were first used. Before [`Self::refreshed_at`] until those of the last
    /// rotation are used.
    pub confirmed_at: Timestamp,
    /// Authenticator assurance level: `aal1`, or `aal2` with a second factor.
    pub aal: String,
    /// Proofs of identity, newest first.
    pub amr: Vec<AuthMethod>,
    /// User agent of the browser.
    pub user_agent: Option<String>,
    /// Time of the sign-in.
    pub created_at: Timestamp,
}

/// A user's session at an identity provider, in which [`AuthSession`]s begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderSession {
    /// Issuer identifier of the provider.
    pub issuer: String,
    /// Id of the session there (`sid`).
    pub id: String,
}

impl ProviderSession {
    pub(crate) fn from_columns(issuer: Option<String>, id: Option<String>) -> Option<Self> {
        Some(Self { issuer: issuer?, id: id? })
    }
}

/// An [`AuthSession`] as its owner sees it: a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// Id of the session.
    pub id: AuthSessionId,
    /// User agent of the browser.
    pub user_agent: Option<String>,
    /// Authenticator assurance level: `aal1`, or `aal2` with a second factor.
    pub aal: String,
    /// Time of the sign-in.
    pub created_at: Timestamp,
    /// Time of the last use, as precise as the calls of [`AuthSessionRepository::touch`](crate::AuthSessionRepository::touch).
    pub used_at: Timestamp,
}

/// The properties of an [`AuthSession`] that every request checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// Whether the user has a verified second factor that this session did not use.
    pub lacks_factor: bool,
    /// Time until which an administrator has banned the user.
    pub banned_until: Option<Timestamp>,
    /// Time of the sign-in.
    pub created_at: Timestamp,
    /// Last recorded time of use.
    pub used_at: Timestamp,
    /// Time of the last rotation of the refresh token.
    pub refreshed_at: Timestamp,
    /// Whether the tokens of the last rotation were used, see [`AuthSessionRepository::confirm`](crate::AuthSessionRepository::confirm).
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
      (id, user_id, refresh_counter, refreshed_at, aal, amr, user_agent, created_at, provider_issuer,
       provider_session_id)
    VALUES (:id, :owner, :refresh_counter, :refreshed_at, :aal, :amr, :user_agent, :created_at, :provider_issuer,
      :provider_session_id)";

const SIGNED_IN: &str = "UPDATE users SET last_sign_in_at = $2 WHERE id = $1";

const GET: &str = "SELECT id, user_id, refresh_counter, refreshed_at, confirmed_at, aal, amr, user_agent, created_at
    FROM auth_sessions WHERE id = $1";

const STANDING: &str = "SELECT s.aal <> 'aal2' AND EXISTS
      (SELECT 1 FROM mfa_factors f WHERE f.user_id = s.user_id AND f.status = 'verified') AS lacks_factor,
      u.banned_until, s.created_at, s.refreshed_at, s.used_at, s.confirmed_at
    FROM auth_sessions s JOIN users u ON u.id = s.user_id WHERE s.id = $1 AND s.user_id = $2";

const LIST: &str =
    "SELECT id, user_agent, aal, created_at, refreshed_at, used_at FROM auth_sessions WHERE user_id = $1";

// Never goes backwards, although nodes may write in any order.
const TOUCH: &str = "UPDATE auth_sessions SET used_at = $3 WHERE id = $1 AND user_id = $2 AND used_at < $3";

// Compare and swap: of parallel rotations with the same token, one succeeds.
const ADVANCE: &str = "UPDATE auth_sessions SET refresh_counter = refresh_counter + 1, refreshed_at = $4
    WHERE id = $1 AND user_id = $2 AND refresh_counter = $3";

// Only the first use after a rotation changes the row.
const CONFIRM: &str = "UPDATE auth_sessions SET confirmed_at = $3
    WHERE id = $1 AND user_id = $2 AND confirmed_at < refreshed_at AND refreshed_at <= $3";

const GET_AMR: &str = "SELECT amr FROM auth_sessions WHERE id = $1 AND user_id = $2";

pub(crate) const SET_AMR: &str = "UPDATE auth_sessions SET amr = $3 WHERE id = $1 AND user_id = $2";

pub(crate) const LIST_AMR: &str = "SELECT id, amr FROM auth_sessions WHERE user_id = $1 AND created_at <= $2";

const LIST_AMR_WITHOUT_PROVIDER_SESSION: &str =
    "SELECT id, amr FROM auth_sessions WHERE user_id = $1 AND created_at <= $2 AND provider_session_id IS NULL";

const LIST_PROVIDER_SESSION_OWNERS: &str =
    "SELECT user_id FROM auth_sessions WHERE provider_issuer = $1 AND provider_session_id = $2
    UNION SELECT user_id FROM auth_codes WHERE provider_issuer = $1 AND provider_session_id = $2";

const DELETE_OF_PROVIDER_SESSION: &str = "DELETE FROM auth_sessions
    WHERE user_id = $1 AND created_at <= $2 AND provider_issuer = $3 AND provider_session_id = $4";

pub(crate) const DELETE: &str = "DELETE FROM auth_sessions WHERE user_id = $1 AND id = $2";

const DELETE_ENDED: &str = "DELETE FROM auth_sessions WHERE created_at <= $1 OR refreshed_at <= $2
    RETURNING user_id";

pub(crate) const DELETE_ALL: &str = "DELETE FROM auth_sessions WHERE user_id = $1";

pub(crate) const DELETE_OTHERS: &str = "DELETE FROM auth_sessions WHERE user_id = $1 AND id <> $2";

/// Ends the sessions of a user that began by a time with an authentication method, except one, within a transaction.
/// Another statement than [`LIST_AMR`] that lists the sessions comes first. Returns their number.
macro_rules! delete_sessions_of_method {
    ($tx:ident, $owner:expr, $method:expr, $until:expr, $keep:expr) => {
        $crate::auth_sessions::delete_sessions_of_method!(
            $crate::auth_sessions::LIST_AMR,
            $tx,
            $owner,
            $method,
            $until,
            $keep
        )
    };
    ($list:expr, $tx:ident, $owner:expr, $method:expr, $until:expr, $keep:expr) => {{
        let keep: Option<domain::AuthSessionId> = $keep;
        let sessions: Vec<(uuid::Uuid, $crate::JsonText<Vec<$crate::auth_sessions::AuthMethod>>)> =
            sqlx::query_as($list).bind($owner.0).bind($until).fetch_all(&mut *$tx).await?;
        let mut count = 0_usize;
        for (session, amr) in sessions {
            let is_kept = keep.is_some_and(|keep| keep.0 == session);
            if !is_kept && amr.0.iter().any(|proof| proof.method == $method) {
                let delete = sqlx::query($crate::auth_sessions::DELETE).bind($owner.0).bind(session);
                delete.execute(&mut *$tx).await?;
                count += 1;
            }
        }
        count
    }};
}
pub(crate) use delete_sessions_of_method;

impl AuthSessionRepository<'_> {
    /// Stores a new session, the one at the identity provider in which it began, the time of the sign-in with the user, and
    /// audit events.
    pub async fn insert(
        self,
        session: &AuthSession,
        provider_session: Option<&ProviderSession>,
        events: &[NewAuditEvent],
    ) -> Result<(), Error> {
        let amr = JsonText(&session.amr);
        transaction!(self.storage, |tx| {
            query_named!(
                INSERT,
                id = session.id.0,
                owner = session.user.0,
                refresh_counter = session.refresh_counter,
                refreshed_at = session.refreshed_at.0,
                aal = &session.aal,
                amr = &amr,
                user_agent = session.user_agent.as_deref(),
                created_at = session.created_at.0,
                provider_issuer = provider_session.map(|session| session.issuer.as_str()),
                provider_session_id = provider_session.map(|session| session.id.as_str())
            )
            .execute(&mut *tx)
            .await?;
            sqlx::query(SIGNED_IN).bind(session.user.0).bind(session.created_at.0).execute(&mut *tx).await?;
            insert_events!(tx, events);
            Ok(())
        })
    }

    /// Returns a session by its id alone, for a refresh token, which identifies its user by itself.
    pub async fn get(self, session: AuthSessionId) -> Result<Option<AuthSession>, Error> {
        let row =
            read!(self.storage, |c| sqlx::query_as::<_, SessionRow>(GET).bind(session.0).fetch_optional(c).await)?;
        Ok(row.map(AuthSession::from))
    }

    /// Returns the properties that every request checks, or `None` if the session has ended.
    pub async fn get_standing(self, owner: UserId, session: AuthSessionId) -> Result<Option<Standing>, Error> {
        let row = read!(self.storage, |c| sqlx::query_as::<_, (bool, Option<i64>, i64, i64, i64, i64)>(STANDING)
            .bind(session.0)
            .bind(owner.0)
            .fetch_optional(c)
            .await)?;
        Ok(row.map(|(lacks_factor, banned_until, created_at, refreshed_at, used_at, confirmed_at)| Standing {
            lacks_factor,
            banned_until: banned_until.map(Timestamp),
            created_at: Timestamp(created_at),
            // The three times are written independently of each other; the latest one is the last use.
            used_at: Timestamp(created_at.max(refreshed_at).max(used_at)),
            refreshed_at: Timestamp(refreshed_at),
            is_confirmed: confirmed_at >= refreshed_at,
        }))
    }

    /// Returns the sessions of a user as devices, most recently used first.
    pub async fn list_devices(self, owner: UserId) -> Result<Vec<Device>, Error> {
        type Row = (Uuid, Option<String>, String, i64, i64, i64);
        let rows = read!(self.storage, |c| sqlx::query_as::<_, Row>(LIST).bind(owner.0).fetch_all(c).await)?;
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

    /// Records the use of a session.
    pub async fn touch(self, owner: UserId, session: AuthSessionId, now: Timestamp) -> Result<(), Error> {
        write!(self.storage, |c| sqlx::query(TOUCH)
            .bind(session.0)
            .bind(owner.0)
            .bind(now.0)
            .execute(c)
            .await
            .map(|_| ()))?;
        Ok(())
    }

    /// Rotates the refresh token if its number still is `counter`. Returns `true` to only one of several parallel
    /// callers.
    pub async fn advance(
        self,
        owner: UserId,
        session: AuthSessionId,
        counter: i64,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let advanced = write!(self.storage, |c| sqlx::query(ADVANCE)
            .bind(session.0)
            .bind(owner.0)
            .bind(counter)
            .bind(now.0)
            .execute(c)
            .await
            .map(|done| done.rows_affected()))?;
        Ok(advanced == 1)
    }

    /// Records that the client received the tokens of the last rotation, because it used the access token.
    pub async fn confirm(self, owner: UserId, session: AuthSessionId, now: Timestamp) -> Result<(), Error> {
        write!(self.storage, |c| sqlx::query(CONFIRM)
            .bind(session.0)
            .bind(owner.0)
            .bind(now.0)
            .execute(c)
            .await
            .map(|_| ()))?;
        Ok(())
    }

    /// Records that the user of a session has given another proof of identity, `method`. Returns whether the session
    /// exists.
    pub async fn record_proof(
        self,
        owner: UserId,
        session: AuthSessionId,
        method: &str,
        now: Timestamp,
    ) -> Result<bool, Error> {
        transaction!(self.storage, |tx| {
            let row: Option<(JsonText<Vec<AuthMethod>>,)> =
                sqlx::query_as(GET_AMR).bind(session.0).bind(owner.0).fetch_optional(&mut *tx).await?;
            let Some((mut amr,)) = row else { return Ok(false) };
            // Each method is listed once, with its latest time.
            amr.0.retain(|proof| proof.method != method);
            amr.0.insert(0, AuthMethod { method: method.to_owned(), timestamp: now.as_seconds() });
            sqlx::query(SET_AMR).bind(session.0).bind(owner.0).bind(&amr).execute(&mut *tx).await?;
            Ok(true)
        })
    }

    /// Ends a session. Returns whether it existed.
    pub async fn delete(self, owner: UserId, session: AuthSessionId) -> Result<bool, Error> {
        let deleted = write!(self.storage, |c| sqlx::query(DELETE)
            .bind(owner.0)
            .bind(session.0)
            .execute(c)
            .await
            .map(|done| done.rows_affected()))?;
        Ok(deleted == 1)
    }

    /// Deletes the sessions of all users whose sign-in is not after `signed_in` or whose last rotation is not after
    /// `refreshed`; `None` deletes none. Returns the user of each.
    pub async fn delete_ended(
        self,
        signed_in: Option<Timestamp>,
        refreshed: Option<Timestamp>,
    ) -> Result<Vec<UserId>, Error> {
        // No comparison with NULL is true.
        let users = write!(self.storage, |c| sqlx::query_scalar::<_, Uuid>(DELETE_ENDED)
            .bind(signed_in.map(|time| time.0))
            .bind(refreshed.map(|time| time.0))
            .fetch_all(c)
            .await)?;
        Ok(users.into_iter().map(UserId).collect())
    }

    /// Ends the sessions of a user that began by `until` with an authentication method, and stores audit events if there
    /// were any. Returns their number. Auth codes that were issued by then become invalid.
    pub async fn delete_by_method(
        self,
        owner: UserId,
        method: &str,
        until: Timestamp,
        events: &[NewAuditEvent],
    ) -> Result<usize, Error> {
        transaction!(self.storage, |tx| {
            let count = delete_sessions_of_method!(tx, owner, method, until.0, None);
            let delete_codes = sqlx::query(auth_codes::DELETE_BY_METHOD).bind(owner.0).bind(method);
            delete_codes.bind(auth_codes::expiry(until).0).execute(&mut *tx).await?;
            insert_events!(tx, events.iter().filter(|_| count > 0));
            Ok(count)
        })
    }

    /// Returns the users with sessions or auth codes that began in a session at an identity provider. The request carries no
    /// session: the provider has named its own.
    pub async fn list_provider_session_owners(self, session: &ProviderSession) -> Result<Vec<UserId>, Error> {
        let rows = read!(self.storage, |c| sqlx::query_as::<_, (Uuid,)>(LIST_PROVIDER_SESSION_OWNERS)
            .bind(&session.issuer)
            .bind(&session.id)
            .fetch_all(c)
            .await)?;
        Ok(rows.into_iter().map(|(user,)| UserId(user)).collect())
    }

    /// Ends the sessions of a user that began by `until` in a session at an identity provider, or with an authentication
    /// method and in an unknown session there. Stores audit events if there were any, and returns their number. Such auth
    /// codes become invalid.
    pub async fn delete_by_provider_session(
        self,
        owner: UserId,
        session: &ProviderSession,
        method: &str,
        until: Timestamp,
        events: &[NewAuditEvent],
    ) -> Result<usize, Error> {
        transaction!(self.storage, |tx| {
            let delete = sqlx::query(DELETE_OF_PROVIDER_SESSION).bind(owner.0).bind(until.0);
            let deleted = delete.bind(&session.issuer).bind(&session.id).execute(&mut *tx).await?.rows_affected();
            let unknown =
                delete_sessions_of_method!(LIST_AMR_WITHOUT_PROVIDER_SESSION, tx, owner, method, until.0, None);
            let count = unknown.saturating_add(usize::try_from(deleted).unwrap_or(usize::MAX));
            let delete_codes = sqlx::query(auth_codes::DELETE_BY_PROVIDER_SESSION).bind(owner.0).bind(method);
            let delete_codes = delete_codes.bind(auth_codes::expiry(until).0).bind(&session.issuer).bind(&session.id);
            delete_codes.execute(&mut *tx).await?;
            insert_events!(tx, events.iter().filter(|_| count > 0));
            Ok(count)
        })
    }

    /// Ends all sessions of a user, and makes the user's auth codes invalid.
    pub async fn delete_all(self, owner: UserId) -> Result<(), Error> {
        transaction!(self.storage, |tx| {
            sqlx::query(DELETE_ALL).bind(owner.0).execute(&mut *tx).await?;
            sqlx::query(auth_codes::DELETE_ALL).bind(owner.0).execute(&mut *tx).await?;
            Ok(())
        })
    }

    /// Ends all sessions of a user except `keep`, and makes the user's auth codes invalid.
    pub async fn delete_others(self, owner: UserId, keep: AuthSessionId) -> Result<(), Error> {
        transaction!(self.storage, |tx| {
            sqlx::query(DELETE_OTHERS).bind(owner.0).bind(keep.0).execute(&mut *tx).await?;
            sqlx::query(auth_codes::DELETE_ALL).bind(owner.0).execute(&mut *tx).await?;
            Ok(())
        })
    }
}
