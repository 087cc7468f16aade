//! Users' authorizations at external services (`credentials`), and pending ones (`authorizations`). Secrets are
//! encrypted before they get here.

use domain::{Timestamp, UserId};
use uuid::Uuid;

use crate::audit_events::{NewAuditEvent, insert_events};
use crate::db_macros::{read, transaction, write};
use crate::named_values::query_named;
use crate::{CredentialRepository, Error};

const GET: &str = "SELECT secret FROM credentials WHERE user_id = $1 AND provider = $2";

const SET: &str = "INSERT INTO credentials (user_id, provider, secret, updated_at) VALUES ($1, $2, $3, $4)
    ON CONFLICT (user_id, provider) DO UPDATE SET secret = excluded.secret, updated_at = excluded.updated_at";

// Compares the encrypted value: of parallel token refreshes, one is stored.
const REPLACE: &str = "UPDATE credentials SET secret = :new, updated_at = :now
    WHERE user_id = :owner AND provider = :provider AND secret = :old";

const DELETE: &str = "DELETE FROM credentials WHERE user_id = $1 AND provider = $2 AND secret = $3";

const TAKE: &str = "DELETE FROM credentials WHERE user_id = $1 AND provider = $2 RETURNING secret";

// Deletes expired authorizations of all users, too, so that no background job is needed.
const DELETE_OLD_AUTHORIZATIONS: &str =
    "DELETE FROM authorizations WHERE (user_id = $1 AND provider = $2) OR expires_at <= $3";

const INSERT_AUTHORIZATION: &str = "INSERT INTO authorizations (state, user_id, provider, secret, expires_at)
    VALUES (:state, :owner, :provider, :secret, :expires_at)";

const TAKE_AUTHORIZATION: &str =
    "DELETE FROM authorizations WHERE state = $1 AND provider = $2 RETURNING user_id, secret, expires_at";

/// A pending authorization, see [`CredentialRepository::insert_authorization`](crate::CredentialRepository::insert_authorization).
#[derive(Debug, Clone)]
pub struct Authorization {
    /// User who started it.
    pub owner: UserId,
    /// State of the authorization flow, encrypted.
    pub secret: Vec<u8>,
    /// Time from which it is invalid.
    pub expires_at: Timestamp,
}

/// A row of `authorizations` that was deleted.
#[derive(sqlx::FromRow)]
pub(crate) struct TakenRow {
    user_id: Uuid,
    secret: Vec<u8>,
    expires_at: i64,
}

impl TakenRow {
    /// Returns the [`Authorization`] unless it has expired.
    pub(crate) fn valid_at(self, now: Timestamp) -> Option<Authorization> {
        let Self { user_id, secret, expires_at } = self;
        let taken = Authorization { owner: UserId(user_id), secret, expires_at: Timestamp(expires_at) };
        (taken.expires_at > now).then_some(taken)
    }
}

impl CredentialRepository<'_> {
    /// Returns a user's credential for a service, encrypted.
    pub async fn get(self, owner: UserId, provider: &str) -> Result<Option<Vec<u8>>, Error> {
        let row = read!(self.storage, |c| sqlx::query_as::<_, (Vec<u8>,)>(GET)
            .bind(owner.0)
            .bind(provider)
            .fetch_optional(c)
            .await)?;
        Ok(row.map(|(secret,)| secret))
    }

    /// Stores a user's credential for a service, in place of the previous one, and audit events.
    pub async fn set(
        self,
        owner: UserId,
        provider: &str,
        secret: &[u8],
        now: Timestamp,
        events: &[NewAuditEvent],
    ) -> Result<(), Error> {
        transaction!(self.storage, |tx| {
            let set = sqlx::query(SET).bind(owner.0).bind(provider).bind(secret).bind(now.0);
            set.execute(&mut *tx).await?;
            insert_events!(tx, events);
            Ok(())
        })
    }

    /// Replaces the credential `old` by `new`. Returns `false` if it was deleted or replaced in the meantime.
    pub async fn replace(
        self,
        owner: UserId,
        provider: &str,
        old: &[u8],
        new: &[u8],
        now: Timestamp,
    ) -> Result<bool, Error> {
        let replaced = write!(self.storage, |c| query_named!(
            REPLACE,
            owner = owner.0,
            provider = provider,
            old = old,
            new = new,
            now = now.0
        )
        .execute(c)
        .await
        .map(|done| done.rows_affected()))?;
        Ok(replaced == 1)
    }

    /// Deletes the credential `secret` and stores audit events. Returns `false` and stores nothing if it was replaced in the
    /// meantime.
    pub async fn delete(
        self,
        owner: UserId,
        provider: &str,
        secret: &[u8],
        events: &[NewAuditEvent],
    ) -> Result<bool, Error> {
        transaction!(self.storage, |tx| {
            let delete = sqlx::query(DELETE).bind(owner.0).bind(provider).bind(secret);
            if delete.execute(&mut *tx).await?.rows_affected() == 0 {
                return Ok(false);
            }
            insert_events!(tx, events);
            Ok(true)
        })
    }

    /// Deletes the user's credential for a service, stores audit events, and returns it. Without a credential nothing is
    /// stored.
    pub async fn take(self, owner: UserId, provider: &str, events: &[NewAuditEvent]) -> Result<Option<Vec<u8>>, Error> {
        transaction!(self.storage, |tx| {
            let take = sqlx::query_scalar::<_, Vec<u8>>(TAKE).bind(owner.0).bind(provider);
            let secret = take.fetch_optional(&mut *tx).await?;
            insert_events!(tx, events.iter().filter(|_| secret.is_some()));
            Ok(secret)
        })
    }

    /// Stores a pending authorization. Deletes the user's earlier ones for the same service, and all that have expired.
    pub async fn insert_authorization(
        self,
        state: &str,
        provider: &str,
        authorization: &Authorization,
        now: Timestamp,
    ) -> Result<(), Error> {
        transaction!(self.storage, |tx| {
            sqlx::query(DELETE_OLD_AUTHORIZATIONS)
                .bind(authorization.owner.0)
                .bind(provider)
                .bind(now.0)
                .execute(&mut *tx)
                .await?;
            query_named!(
                INSERT_AUTHORIZATION,
                state = state,
                owner = authorization.owner.0,
                provider = provider,
                secret = &authorization.secret,
                expires_at = authorization.expires_at.0
            )
            .execute(&mut *tx)
            .await?;
            Ok(())
        })
    }

    /// Removes and returns the pending authorization with this `state`, once and only before it expires.
    ///
    /// The request that completes an authorization carries no session. The unguessable `state` identifies the user, who
    /// is the owner in the result.
    pub async fn take_authorization(
        self,
        state: &str,
        provider: &str,
        now: Timestamp,
    ) -> Result<Option<Authorization>, Error> {
        let row = write!(self.storage, |c| sqlx::query_as::<_, TakenRow>(TAKE_AUTHORIZATION)
            .bind(state)
            .bind(provider)
            .fetch_optional(c)
            .await)?;
        Ok(row.and_then(|row| row.valid_at(now)))
    }
}
