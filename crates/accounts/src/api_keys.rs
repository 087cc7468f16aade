//! API keys of users: creation and lookup.
//!
//! A key has 256 random bits. A plain hash of it is sufficient for storage, because it cannot be reversed by guessing.

use aws_lc_rs::digest::{SHA256, digest};
use data_encoding::BASE64URL_NOPAD;
use domain::api_key::Scope;
use domain::{ApiKeyId, Timestamp, UserId};
use storage::api_keys::{ApiKey, Bearer};
use storage::audit_events::{AuditActor, AuditEventKind};

use super::AccountService;
use super::error::AuthError;
use platform::secret_sealing::random_bytes;

/// Prefix of every key, by which users and secret scanners recognize one.
pub const KEY_PREFIX: &str = "sk-chat-";
/// Maximum number of keys per user.
pub const MAX_KEYS: i64 = 50;
/// Length of the hint, in characters. The hint is the end of the key, which is shown in lists.
const HINT_CHARS: usize = 4;
/// Precision of the time of a key's last use, in milliseconds, so that not every request causes a write.
const LAST_USE_PRECISION_MS: u64 = 60_000;

impl AccountService {
    /// Creates a key. Returns it with its secret, which is not stored, or `None` if the user has [`MAX_KEYS`] keys.
    pub async fn create_api_key(
        &self,
        owner: UserId,
        name: String,
        scopes: Vec<Scope>,
        expires_at: Option<Timestamp>,
    ) -> Result<Option<(ApiKey, String)>, AuthError> {
        let secret =
            format!("{KEY_PREFIX}{}", BASE64URL_NOPAD.encode(&random_bytes::<32>().map_err(AuthError::internal)?));
        let key = ApiKey {
            id: ApiKeyId::fresh(),
            name,
            hint: secret[secret.len() - HINT_CHARS..].to_owned(),
            scopes,
            created_at: self.clock.now(),
            expires_at,
            last_used_at: None,
        };
        let events = self.audit(owner, AuditActor::User, AuditEventKind::ApiKeyCreated);
        let added = self
            .storage
            .api_keys()
            .insert(owner, &key, &hash_secret(&secret), MAX_KEYS, &events)
            .await
            .map_err(AuthError::internal)?;
        Ok(added.then_some((key, secret)))
    }

    /// Deletes a key of a user. Returns whether it existed.
    ///
    /// # Errors
    ///
    /// The database fails.
    pub async fn delete_api_key(&self, owner: UserId, key: ApiKeyId) -> Result<bool, storage::Error> {
        let events = self.audit(owner, AuditActor::User, AuditEventKind::ApiKeyDeleted);
        self.storage.api_keys().delete(owner, key, &events).await
    }

    /// Deletes all keys of a user. Returns how many there were.
    ///
    /// # Errors
    ///
    /// The database fails.
    pub async fn delete_all_api_keys(&self, owner: UserId) -> Result<u64, storage::Error> {
        let events = self.audit(owner, AuditActor::User, AuditEventKind::ApiKeyDeleted);
        self.storage.api_keys().delete_all(owner, &events).await
    }

    /// Returns the user and the key of a secret, if the key exists and has not expired.
    pub async fn find_api_key(&self, secret: &str) -> Result<Option<Bearer>, AuthError> {
        let now = self.clock.now();
        let bearer = self.storage.api_keys().find(&hash_secret(secret), now).await.map_err(AuthError::internal)?;
        if let Some(Bearer { key, user }) = &bearer
            && key.last_used_at.is_none_or(|last| now.millis_since(last) >= LAST_USE_PRECISION_MS)
        {
            // Awaited, unlike for sessions, because it happens at most once a minute per key.
            self.storage.api_keys().touch(*user, key.id, now).await.map_err(AuthError::internal)?;
        }
        Ok(bearer)
    }
}

fn hash_secret(secret: &str) -> Vec<u8> {
    digest(&SHA256, secret.as_bytes()).as_ref().to_vec()
}
