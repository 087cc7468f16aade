//! Model providers that users configured for themselves (`model_providers`). API keys are encrypted before they get
//! here.

use domain::text::without_nul;
use domain::{ModelProviderId, Timestamp, UserId};
use uuid::Uuid;

use crate::audit_events::{NewAuditEvent, insert_events};
use crate::db_macros::{read, transaction};
use crate::named_values::query_named;
use crate::{Error, ModelProviderRepository};

/// A model provider of a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelProvider {
    /// Its id.
    pub id: ModelProviderId,
    /// Prefix of its models' names. Unique per user and never changed.
    pub slug: String,
    /// Display name.
    pub name: String,
    /// Provider API, as stored text.
    pub kind: String,
    /// Base URL of the provider API.
    pub base_url: String,
    /// API key, encrypted; `None` for a server that requires none.
    pub secret: Option<Vec<u8>>,
    /// Last characters of the API key, to recognize it.
    pub hint: Option<String>,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub changed_at: Timestamp,
}

#[derive(sqlx::FromRow)]
struct ProviderRow {
    id: Uuid,
    slug: String,
    name: String,
    kind: String,
    base_url: String,
    secret: Option<Vec<u8>>,
    hint: Option<String>,
    created_at: i64,
    changed_at: i64,
}

impl From<ProviderRow> for ModelProvider {
    fn from(row: ProviderRow) -> Self {
        let ProviderRow { id, slug, name, kind, base_url, secret, hint, created_at, changed_at } = row;
        let (created_at, changed_at) = (Timestamp(created_at), Timestamp(changed_at));
        Self { id: ModelProviderId(id), slug, name, kind, base_url, secret, hint, created_at, changed_at }
    }
}

/// Counts and inserts in one statement, so that parallel requests do not exceed the limit on SQLite.
const INSERT: &str = "INSERT INTO model_providers
      (id, user_id, slug, name, kind, base_url, secret, hint, created_at, changed_at)
    SELECT :id, :owner, :slug, :name, :kind, :base_url, :secret, :hint, :created_at, :changed_at
    WHERE (SELECT COUNT(*) FROM model_providers WHERE user_id = :owner) < :most";

const LIST: &str = "SELECT id, slug, name, kind, base_url, secret, hint, created_at, changed_at FROM model_providers
    WHERE user_id = $1 ORDER BY id";

const FIND: &str = "SELECT id, slug, name, kind, base_url, secret, hint, created_at, changed_at FROM model_providers
    WHERE user_id = $1 AND slug = $2";

const GET: &str = "SELECT id, slug, name, kind, base_url, secret, hint, created_at, changed_at FROM model_providers
    WHERE user_id = $1 AND id = $2";

/// Writes only over the version that was read, see [`ModelProviderRepository::update`](crate::ModelProviderRepository::update).
const UPDATE: &str = "UPDATE model_providers
    SET name = :name, kind = :kind, base_url = :base_url, secret = :secret, hint = :hint, changed_at = :changed_at
    WHERE user_id = :owner AND id = :id AND changed_at = :as_of";

const DELETE: &str = "DELETE FROM model_providers WHERE user_id = $1 AND id = $2";

impl ModelProviderRepository<'_> {
    /// Adds a provider unless the user already has `most`, and stores audit events. Returns whether it was added;
    /// otherwise nothing is stored.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`] if the user has a provider with the same slug.
    pub async fn insert(
        self,
        owner: UserId,
        provider: &ModelProvider,
        most: i64,
        events: &[NewAuditEvent],
    ) -> Result<bool, Error> {
        let (name, base_url) = (without_nul(provider.name.clone()), without_nul(provider.base_url.clone()));
        transaction!(self.storage, |tx| {
            let insert = query_named!(
                INSERT,
                id = provider.id.0,
                owner = owner.0,
                slug = &provider.slug,
                name = &name,
                kind = &provider.kind,
                base_url = &base_url,
                secret = &provider.secret,
                hint = &provider.hint,
                created_at = provider.created_at.0,
                changed_at = provider.changed_at.0,
                most = most
            );
            if insert.execute(&mut *tx).await?.rows_affected() == 0 {
                return Ok(false);
            }
            insert_events!(tx, events);
            Ok(true)
        })
    }

    /// Returns the [`ModelProvider`]s of a user, oldest first.
    pub async fn list(self, owner: UserId) -> Result<Vec<ModelProvider>, Error> {
        let rows = read!(self.storage, |c| sqlx::query_as::<_, ProviderRow>(LIST).bind(owner.0).fetch_all(c).await)?;
        Ok(rows.into_iter().map(ModelProvider::from).collect())
    }

    /// Returns a user's provider by its slug, the prefix of its models' names.
    pub async fn find(self, owner: UserId, slug: &str) -> Result<Option<ModelProvider>, Error> {
        let row = read!(self.storage, |c| sqlx::query_as::<_, ProviderRow>(FIND)
            .bind(owner.0)
            .bind(slug)
            .fetch_optional(c)
            .await)?;
        Ok(row.map(ModelProvider::from))
    }

    /// Returns a user's provider by its id.
    pub async fn get(self, owner: UserId, id: ModelProviderId) -> Result<Option<ModelProvider>, Error> {
        let row = read!(self.storage, |c| sqlx::query_as::<_, ProviderRow>(GET)
            .bind(owner.0)
            .bind(id.0)
            .fetch_optional(c)
            .await)?;
        Ok(row.map(ModelProvider::from))
    }

    /// Updates a provider if it is unchanged since `as_of`, so that an API key is never combined with a URL it was not
    /// entered for, and stores audit events. Returns whether it was updated; otherwise nothing is stored.
    pub async fn update(
        self,
        owner: UserId,
        provider: &ModelProvider,
        as_of: Timestamp,
        events: &[NewAuditEvent],
    ) -> Result<bool, Error> {
        let (name, base_url) = (without_nul(provider.name.clone()), without_nul(provider.base_url.clone()));
        transaction!(self.storage, |tx| {
            let update = query_named!(
                UPDATE,
                owner = owner.0,
                id = provider.id.0,
                name = &name,
                kind = &provider.kind,
                base_url = &base_url,
                secret = &provider.secret,
                hint = &provider.hint,
                changed_at = provider.changed_at.0,
                as_of = as_of.0
            );
            if update.execute(&mut *tx).await?.rows_affected() == 0 {
                return Ok(false);
            }
            insert_events!(tx, events);
            Ok(true)
        })
    }

    /// Deletes a provider and its API key, and stores audit events. Returns whether it existed; otherwise nothing is stored.
    pub async fn delete(self, owner: UserId, id: ModelProviderId, events: &[NewAuditEvent]) -> Result<bool, Error> {
        transaction!(self.storage, |tx| {
            if sqlx::query(DELETE).bind(owner.0).bind(id.0).execute(&mut *tx).await?.rows_affected() == 0 {
                return Ok(false);
            }
            insert_events!(tx, events);
            Ok(true)
        })
    }
}
