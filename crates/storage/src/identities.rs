//! Accounts of users at the identity provider (`identities`), and sign-ins there that have begun
//! (`provider_sign_ins`).

use domain::{Timestamp, UserId};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::db_macros::{read, transaction, write};
use crate::{Error, IdentityRepository, JsonText};

/// A user's account at an identity provider.
#[derive(Debug, Clone, PartialEq)]
pub struct Identity {
    /// Its id.
    pub id: Uuid,
    /// User whom it signs in.
    pub user: UserId,
    /// Issuer identifier of the provider.
    pub issuer: String,
    /// Id of the user at the provider.
    pub subject: String,
    /// Claims of the last sign-in.
    pub data: Map<String, Value>,
    /// Time of the last sign-in with it.
    pub last_sign_in_at: Timestamp,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

/// Claim of [`Identity::data`] with the user's groups.
pub const GROUPS: &str = "groups";

impl Identity {
    /// Returns the user's groups at the provider, as of the last sign-in.
    pub fn groups(&self) -> impl Iterator<Item = &str> {
        groups_of(&self.data)
    }
}

#[derive(sqlx::FromRow)]
pub(crate) struct IdentityRow {
    id: Uuid,
    user_id: Uuid,
    issuer: String,
    subject: String,
    identity_data: JsonText<Map<String, Value>>,
    last_sign_in_at: i64,
    created_at: i64,
    updated_at: i64,
}

impl From<IdentityRow> for Identity {
    fn from(row: IdentityRow) -> Self {
        Self {
            id: row.id,
            user: UserId(row.user_id),
            issuer: row.issuer,
            subject: row.subject,
            data: row.identity_data.0,
            last_sign_in_at: Timestamp(row.last_sign_in_at),
            created_at: Timestamp(row.created_at),
            updated_at: Timestamp(row.updated_at),
        }
    }
}

/// A sign-in that waits for the browser to come back from the identity provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderSignIn {
    /// Hash of the `state` of the authorization request.
    pub state_hash: Vec<u8>,
    /// What is needed to complete the sign-in, encrypted.
    pub details: Vec<u8>,
    /// Time from which the sign-in is invalid.
    pub expires_at: Timestamp,
}

pub(crate) const INSERT: &str = "INSERT INTO identities
      (id, user_id, issuer, subject, identity_data, last_sign_in_at, created_at, updated_at)
    VALUES (:id, :owner, :issuer, :subject, :data, :last_sign_in_at, :created_at, :updated_at)";

const LIST: &str = "SELECT id, user_id, issuer, subject, identity_data, last_sign_in_at, created_at, updated_at
    FROM identities WHERE user_id = $1 ORDER BY created_at, id";

const GET: &str = "SELECT id, user_id, issuer, subject, identity_data, last_sign_in_at, created_at, updated_at
    FROM identities WHERE issuer = $1 AND subject = $2";

const RECORD_SIGN_IN: &str = "UPDATE identities SET identity_data = $3, last_sign_in_at = $4, updated_at = $4
    WHERE id = $1 AND user_id = $2";

const SET_ID_TOKEN: &str = "UPDATE identities SET id_token = $3 WHERE id = $1 AND user_id = $2";

const GET_ID_TOKEN: &str = "SELECT id, id_token FROM identities
    WHERE user_id = $1 AND issuer = $2 AND id_token IS NOT NULL ORDER BY last_sign_in_at DESC LIMIT 1";

pub(crate) const DELETE: &str = "DELETE FROM identities WHERE user_id = $1 AND id = $2";

pub(crate) const DELETE_ALL: &str = "DELETE FROM identities WHERE user_id = $1";

const INSERT_SIGN_IN: &str = "INSERT INTO provider_sign_ins (state_hash, details, expires_at) VALUES ($1, $2, $3)";

// Runs with each insert, so that no background job is needed.
const DELETE_EXPIRED: &str = "DELETE FROM provider_sign_ins WHERE expires_at <= $1";

const TAKE_SIGN_IN: &str = "DELETE FROM provider_sign_ins WHERE state_hash = $1 RETURNING details, expires_at";

pub(crate) const DELETE_GROUPS: &str = "DELETE FROM identity_groups WHERE identity_id = $1";

// The identity is checked, so that nobody writes groups of another user. A claim can name a group twice.
pub(crate) const INSERT_GROUP: &str = "INSERT INTO identity_groups (identity_id, name)
    SELECT id, $3 FROM identities WHERE id = $1 AND user_id = $2
    ON CONFLICT (identity_id, name) DO NOTHING";

/// Replaces the groups of an identity within a transaction, for conditions of statements.
macro_rules! set_groups {
    ($tx:ident, $owner:expr, $id:expr, $data:expr) => {{
        sqlx::query($crate::identities::DELETE_GROUPS).bind($id).execute(&mut *$tx).await?;
        for group in $crate::identities::groups_of($data) {
            let insert = sqlx::query($crate::identities::INSERT_GROUP).bind($id).bind($owner.0).bind(group);
            insert.execute(&mut *$tx).await?;
        }
    }};
}
pub(crate) use set_groups;

/// Returns the groups in the claims of an identity.
pub(crate) fn groups_of(data: &Map<String, Value>) -> impl Iterator<Item = &str> {
    data.get(GROUPS).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

/// Inserts an [`Identity`] with its groups within a transaction.
macro_rules! insert_identity {
    ($tx:ident, $identity:expr) => {{
        let data = $crate::JsonText(&$identity.data);
        $crate::named_values::query_named!(
            $crate::identities::INSERT,
            id = $identity.id,
            owner = $identity.user.0,
            issuer = &$identity.issuer,
            subject = &$identity.subject,
            data = &data,
            last_sign_in_at = $identity.last_sign_in_at.0,
            created_at = $identity.created_at.0,
            updated_at = $identity.updated_at.0,
        )
        .execute(&mut *$tx)
        .await?;
        $crate::identities::set_groups!($tx, $identity.user, $identity.id, &$identity.data);
    }};
}
pub(crate) use insert_identity;

impl IdentityRepository<'_> {
    /// Returns a user's identities, oldest first.
    pub async fn list(self, owner: UserId) -> Result<Vec<Identity>, Error> {
        let rows = read!(self.storage, |c| sqlx::query_as::<_, IdentityRow>(LIST).bind(owner.0).fetch_all(c).await)?;
        Ok(rows.into_iter().map(Identity::from).collect())
    }

    /// Returns the identity of a subject of an issuer. The request carries no session: the issuer has named the
    /// subject, which identifies the user, who is in the result.
    pub async fn get(self, issuer: &str, subject: &str) -> Result<Option<Identity>, Error> {
        let row = read!(self.storage, |c| sqlx::query_as::<_, IdentityRow>(GET)
            .bind(issuer)
            .bind(subject)
            .fetch_optional(c)
            .await)?;
        Ok(row.map(Identity::from))
    }

    /// Records a sign-in with an identity, its claims, and its groups.
    pub async fn record_sign_in(
        self,
        owner: UserId,
        id: Uuid,
        data: &Map<String, Value>,
        now: Timestamp,
    ) -> Result<(), Error> {
        let claims = JsonText(data);
        transaction!(self.storage, |tx| {
            let record = sqlx::query(RECORD_SIGN_IN).bind(id).bind(owner.0).bind(&claims).bind(now.0);
            if record.execute(&mut *tx).await?.rows_affected() == 1 {
                set_groups!(tx, owner, id, data);
            }
            Ok(())
        })
    }

    /// Stores the encrypted ID token of the last sign-in with an identity.
    pub async fn set_id_token(self, owner: UserId, id: Uuid, sealed: &[u8]) -> Result<(), Error> {
        write!(self.storage, |c| sqlx::query(SET_ID_TOKEN)
            .bind(id)
            .bind(owner.0)
            .bind(sealed)
            .execute(c)
            .await
            .map(|_| ()))?;
        Ok(())
    }

    /// Returns the encrypted ID token of a user's last sign-in at an issuer, with the id of its identity.
    pub async fn get_id_token(self, owner: UserId, issuer: &str) -> Result<Option<(Uuid, Vec<u8>)>, Error> {
        Ok(read!(self.storage, |c| sqlx::query_as::<_, (Uuid, Vec<u8>)>(GET_ID_TOKEN)
            .bind(owner.0)
            .bind(issuer)
            .fetch_optional(c)
            .await)?)
    }

    /// Stores a sign-in that has begun. Deletes those that have expired.
    pub async fn insert_sign_in(self, sign_in: &ProviderSignIn, now: Timestamp) -> Result<(), Error> {
        transaction!(self.storage, |tx| {
            sqlx::query(DELETE_EXPIRED).bind(now.0).execute(&mut *tx).await?;
            sqlx::query(INSERT_SIGN_IN)
                .bind(&sign_in.state_hash)
                .bind(&sign_in.details)
                .bind(sign_in.expires_at.0)
                .execute(&mut *tx)
                .await?;
            Ok(())
        })
    }

    /// Removes and returns the encrypted details of the sign-in with this hash of its `state`, once and only before it
    /// expires. There is no user yet; only the browser that began the sign-in knows the `state`.
    pub async fn take_sign_in(self, state_hash: &[u8], now: Timestamp) -> Result<Option<Vec<u8>>, Error> {
        let row = write!(self.storage, |c| sqlx::query_as::<_, (Vec<u8>, i64)>(TAKE_SIGN_IN)
            .bind(state_hash)
            .fetch_optional(c)
            .await)?;
        Ok(row.filter(|(_, expires_at)| *expires_at > now.0).map(|(details, _)| details))
    }
}
