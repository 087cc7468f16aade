//! Web Push: the browsers that receive push messages (`push_subscriptions`), and the keys of this server (`push_keys`).

use domain::{AuthSessionId, PushSubscriptionId, Timestamp, UserId};
use uuid::Uuid;

use crate::db_macros::{read, transaction, write};
use crate::named_values::query_named;
use crate::signing_keys::{self, SealedKey};
use crate::{Error, PushRepository};

/// A browser that receives push messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushSubscription {
    /// Its id.
    pub id: PushSubscriptionId,
    /// Sign-in with which it ends.
    pub session: AuthSessionId,
    /// SHA-256 of the URL.
    pub endpoint_hash: Vec<u8>,
    /// URL of the push service and keys of the browser, encrypted.
    pub target: Vec<u8>,
    /// Time of the subscription.
    pub created_at: Timestamp,
}

/// A [`PushSubscription`] as its owner sees it: a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushDevice {
    /// Id of the subscription.
    pub id: PushSubscriptionId,
    /// Sign-in of the device.
    pub session: AuthSessionId,
    /// User agent of the browser.
    pub user_agent: Option<String>,
    /// Time of the subscription.
    pub created_at: Timestamp,
}

const LIST_KEYS: &str = "SELECT number, private_key FROM push_keys ORDER BY number DESC";

const INSERT_KEY: &str = "INSERT INTO push_keys (number, private_key, created_at) VALUES ($1, $2, $3)
    ON CONFLICT (number) DO NOTHING";

// The endpoint may be that of another sign-in of the same browser, also one of another user.
const DELETE_REPLACED: &str = "DELETE FROM push_subscriptions WHERE session_id = $1 OR endpoint_hash = $2";

const INSERT: &str = "INSERT INTO push_subscriptions (id, user_id, session_id, endpoint_hash, target, created_at)
    SELECT :id, s.user_id, s.id, :endpoint_hash, :target, :created_at FROM auth_sessions s
    WHERE s.id = :session AND s.user_id = :owner
      AND (SELECT COUNT(*) FROM push_subscriptions WHERE user_id = :owner) < :most";

const LIST_DEVICES: &str = "SELECT p.id, p.session_id, s.user_agent, p.created_at
    FROM push_subscriptions p JOIN auth_sessions s ON s.id = p.session_id
    WHERE p.user_id = $1 ORDER BY p.id DESC";

const LIST_TARGETS: &str = "SELECT p.id, p.target FROM push_subscriptions p JOIN users u ON u.id = p.user_id
    WHERE p.user_id = $1 AND (u.banned_until IS NULL OR u.banned_until <= $2) ORDER BY p.id";

const DELETE: &str = "DELETE FROM push_subscriptions WHERE id = $1 AND user_id = $2";

impl PushRepository<'_> {
    /// Returns all keys, newest first. The newest one signs.
    pub async fn list_keys(self) -> Result<Vec<SealedKey>, Error> {
        signing_keys::list_keys(self.storage, LIST_KEYS).await
    }

    /// Stores a key unless its number is taken. Of several nodes that start together one succeeds, and all of them read
    /// its key afterwards.
    pub async fn insert_key(self, key: &SealedKey, now: Timestamp) -> Result<(), Error> {
        signing_keys::insert_key(self.storage, INSERT_KEY, key, now).await
    }

    /// Stores a subscription in place of an earlier one of the same sign-in or browser. Returns `false` and changes
    /// nothing if the user already has `most` or the sign-in has ended.
    pub async fn insert(self, owner: UserId, subscription: &PushSubscription, most: i64) -> Result<bool, Error> {
        let inserted = transaction!(self.storage, |tx| {
            sqlx::query(DELETE_REPLACED)
                .bind(subscription.session.0)
                .bind(&subscription.endpoint_hash)
                .execute(&mut *tx)
                .await?;
            let inserted = query_named!(
                INSERT,
                id = subscription.id.0,
                endpoint_hash = &subscription.endpoint_hash,
                target = &subscription.target,
                created_at = subscription.created_at.0,
                session = subscription.session.0,
                owner = owner.0,
                most = most
            )
            .execute(&mut *tx)
            .await?
            .rows_affected();
            // Undoes the deletion.
            if inserted == 0 { Err(Error::NotFound) } else { Ok(()) }
        });
        match inserted {
            Ok(()) => Ok(true),
            Err(Error::NotFound) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Returns the devices of a user that receive push messages, newest first.
    pub async fn list_devices(self, owner: UserId) -> Result<Vec<PushDevice>, Error> {
        type Row = (Uuid, Uuid, Option<String>, i64);
        let rows = read!(self.storage, |c| sqlx::query_as::<_, Row>(LIST_DEVICES).bind(owner.0).fetch_all(c).await)?;
        let device = |(id, session, user_agent, created_at): Row| PushDevice {
            id: PushSubscriptionId(id),
            session: AuthSessionId(session),
            user_agent,
            created_at: Timestamp(created_at),
        };
        Ok(rows.into_iter().map(device).collect())
    }

    /// Returns the ids and encrypted targets of a user's subscriptions; none if the user is banned.
    pub async fn list_targets(
        self,
        owner: UserId,
        now: Timestamp,
    ) -> Result<Vec<(PushSubscriptionId, Vec<u8>)>, Error> {
        let rows = read!(self.storage, |c| sqlx::query_as::<_, (Uuid, Vec<u8>)>(LIST_TARGETS)
            .bind(owner.0)
            .bind(now.0)
            .fetch_all(c)
            .await)?;
        Ok(rows.into_iter().map(|(id, target)| (PushSubscriptionId(id), target)).collect())
    }

    /// Deletes a subscription. Returns whether it existed.
    pub async fn delete(self, owner: UserId, id: PushSubscriptionId) -> Result<bool, Error> {
        let deleted = write!(self.storage, |c| sqlx::query(DELETE)
            .bind(id.0)
            .bind(owner.0)
            .execute(c)
            .await
            .map(|done| done.rows_affected()))?;
        Ok(deleted == 1)
    }
}
