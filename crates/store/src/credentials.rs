//! People's authorisations at other services (`credentials`), and those under way (`authorizations`). What is secret in
//! them is encrypted before it comes here.

use domain::{Timestamp, UserId};
use uuid::Uuid;

use crate::dispatch::{read, transaction, write};
use crate::{Error, Store};

const GET: &str = "SELECT secret FROM credentials WHERE user_id = $1 AND provider = $2";

const SET: &str = "INSERT INTO credentials (user_id, provider, secret, updated_at) VALUES ($1, $2, $3, $4)
    ON CONFLICT (user_id, provider) DO UPDATE SET secret = excluded.secret, updated_at = excluded.updated_at";

const REPLACE: &str = "UPDATE credentials SET secret = $4, updated_at = $5
    WHERE user_id = $1 AND provider = $2 AND secret = $3";

const DELETE: &str = "DELETE FROM credentials WHERE user_id = $1 AND provider = $2 AND secret = $3";

const TAKE: &str = "DELETE FROM credentials WHERE user_id = $1 AND provider = $2 RETURNING secret";

const DELETE_OLD_AUTHORIZATIONS: &str =
    "DELETE FROM authorizations WHERE (user_id = $1 AND provider = $2) OR expires_at <= $3";

const INSERT_AUTHORIZATION: &str =
    "INSERT INTO authorizations (state, user_id, provider, secret, expires_at) VALUES ($1, $2, $3, $4, $5)";

const TAKE_AUTHORIZATION: &str =
    "DELETE FROM authorizations WHERE state = $1 AND provider = $2 RETURNING user_id, secret, expires_at";

/// An authorisation under way.
#[derive(Debug, Clone)]
pub struct Authorization {
    /// Who began it.
    pub owner: UserId,
    /// What was sealed when it began.
    pub secret: Vec<u8>,
    /// From when on it is void.
    pub expires_at: Timestamp,
}

/// A row of `authorizations` as it is taken out.
#[derive(sqlx::FromRow)]
pub(crate) struct TakenRow {
    user_id: Uuid,
    secret: Vec<u8>,
    expires_at: i64,
}

impl TakenRow {
    /// What is in it, unless it has expired.
    pub(crate) fn valid_at(self, now: Timestamp) -> Option<Authorization> {
        let Self { user_id, secret, expires_at } = self;
        let taken = Authorization { owner: UserId(user_id), secret, expires_at: Timestamp(expires_at) };
        (taken.expires_at > now).then_some(taken)
    }
}

impl Store {
    /// A person's authorisation at a service.
    pub async fn get_credential(&self, owner: UserId, provider: &str) -> Result<Option<Vec<u8>>, Error> {
        let row =
            read!(self, |c| sqlx::query_as::<_, (Vec<u8>,)>(GET).bind(owner.0).bind(provider).fetch_optional(c).await)?;
        Ok(row.map(|(secret,)| secret))
    }

    /// Stores a person's authorisation at a service, in place of an older one.
    pub async fn set_credential(
        &self,
        owner: UserId,
        provider: &str,
        secret: &[u8],
        now: Timestamp,
    ) -> Result<(), Error> {
        write!(self, |c| sqlx::query(SET)
            .bind(owner.0)
            .bind(provider)
            .bind(secret)
            .bind(now.0)
            .execute(c)
            .await
            .map(|_| ()))?;
        Ok(())
    }

    /// Puts `new` in the place of `old`. Returns whether it did: it does nothing when the authorisation has been
    /// removed or replaced meanwhile.
    pub async fn replace_credential(
        &self,
        owner: UserId,
        provider: &str,
        old: &[u8],
        new: &[u8],
        now: Timestamp,
    ) -> Result<bool, Error> {
        let replaced = write!(self, |c| sqlx::query(REPLACE)
            .bind(owner.0)
            .bind(provider)
            .bind(old)
            .bind(new)
            .bind(now.0)
            .execute(c)
            .await
            .map(|done| done.rows_affected()))?;
        Ok(replaced == 1)
    }

    /// Removes a person's authorisation, unless another has taken the place of `secret`. Returns whether it did.
    pub async fn delete_credential(&self, owner: UserId, provider: &str, secret: &[u8]) -> Result<bool, Error> {
        let deleted = write!(self, |c| sqlx::query(DELETE)
            .bind(owner.0)
            .bind(provider)
            .bind(secret)
            .execute(c)
            .await
            .map(|done| done.rows_affected()))?;
        Ok(deleted == 1)
    }

    /// Removes a person's authorisation, whatever it is, and hands it out.
    pub async fn take_credential(&self, owner: UserId, provider: &str) -> Result<Option<Vec<u8>>, Error> {
        let row = write!(self, |c| sqlx::query_as::<_, (Vec<u8>,)>(TAKE)
            .bind(owner.0)
            .bind(provider)
            .fetch_optional(c)
            .await)?;
        Ok(row.map(|(secret,)| secret))
    }

    /// Begins an authorisation. The person's earlier ones at the same service become void, and what has expired goes.
    pub async fn insert_authorization(
        &self,
        state: &str,
        provider: &str,
        authorization: &Authorization,
        now: Timestamp,
    ) -> Result<(), Error> {
        transaction!(self, |tx| {
            sqlx::query(DELETE_OLD_AUTHORIZATIONS)
                .bind(authorization.owner.0)
                .bind(provider)
                .bind(now.0)
                .execute(&mut *tx)
                .await?;
            sqlx::query(INSERT_AUTHORIZATION)
                .bind(state)
                .bind(authorization.owner.0)
                .bind(provider)
                .bind(&authorization.secret)
                .bind(authorization.expires_at.0)
                .execute(&mut *tx)
                .await?;
            Ok(())
        })
    }

    /// Takes out the authorisation that this state began: once, and only before it expires. Whoever comes back from
    /// the service cannot say who they are; the state says it for them, and the owner is in the answer.
    pub async fn take_authorization(
        &self,
        state: &str,
        provider: &str,
        now: Timestamp,
    ) -> Result<Option<Authorization>, Error> {
        let row = write!(self, |c| sqlx::query_as::<_, TakenRow>(TAKE_AUTHORIZATION)
            .bind(state)
            .bind(provider)
            .fetch_optional(c)
            .await)?;
        Ok(row.and_then(|row| row.valid_at(now)))
    }
}
