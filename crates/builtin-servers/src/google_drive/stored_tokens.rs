//! The stored tokens of users: sealed, renewed before they expire, by one renewal at a time.

use domain::UserId;
use storage::audit_events::{AuditActor, AuditEventKind};

use super::error::DriveError;
use super::token_endpoint::GoogleTokens;
use super::{GoogleDrive, PROVIDER};

/// Tokens of a user with the sealed form in which they are stored.
struct StoredTokens {
    tokens: GoogleTokens,
    sealed: Vec<u8>,
}

impl GoogleDrive {
    /// Returns a usable access token of a user. `rejected` is a token that Google has just rejected; another one is
    /// returned then.
    pub(super) async fn access_token(&self, user: UserId, rejected: Option<&str>) -> Result<String, DriveError> {
        if !self.is_configured() {
            return Err(DriveError::NotConfigured);
        }
        let stored = self.load_tokens(user).await?;
        if let Some(access) = self.usable_access_token(&stored.tokens, rejected) {
            return Ok(access);
        }
        // In a task of its own: if the caller is dropped while Google issues a new refresh token, that token must
        // still be stored.
        let (drive, rejected) = (self.clone(), rejected.map(str::to_owned));
        let renewal = async move { drive.renew_tokens(user, rejected.as_deref()).await };
        let renewed = self.tasks.spawn_and_wait("renew google tokens", renewal).await;
        renewed.unwrap_or_else(|| Err(DriveError::Unreachable("the server is stopping".into())))
    }

    /// Renews the tokens of a user, unless another task or node has done so.
    async fn renew_tokens(&self, user: UserId, rejected: Option<&str>) -> Result<String, DriveError> {
        let _renewal = self.lock_renewal(user).await;
        // Loaded again under the lock: another call may have renewed the tokens in the meantime.
        let old = self.load_tokens(user).await?;
        if let Some(access) = self.usable_access_token(&old.tokens, rejected) {
            return Ok(access);
        }
        let now = self.clock.now();
        let Some(new) = self.refresh_tokens(&old.tokens, now).await? else {
            // The link has ended, unless another node has stored newer tokens.
            let events = self.audit.event(Some(user), AuditActor::System, AuditEventKind::GoogleDriveUnlinked);
            if self.storage.credentials().delete(user, PROVIDER, &old.sealed, &events).await? {
                return Err(DriveError::LinkEnded);
            }
            return self.load_tokens(user).await.map(|stored| stored.tokens.access);
        };
        // Stored before the first use, because Google may have invalidated the old refresh token.
        let sealed = self.seal_tokens(user, &new)?;
        if self.storage.credentials().replace(user, PROVIDER, &old.sealed, &sealed, now).await? {
            return Ok(new.access);
        }
        // Another node was faster, and its tokens are the stored ones.
        self.load_tokens(user).await.map(|stored| stored.tokens.access)
    }

    async fn load_tokens(&self, user: UserId) -> Result<StoredTokens, DriveError> {
        let sealed = self.storage.credentials().get(user, PROVIDER).await?.ok_or(DriveError::NotLinked)?;
        Ok(StoredTokens { tokens: self.open_tokens(user, &sealed)?, sealed })
    }

    /// Returns the access token if it is fresh and not the rejected one.
    fn usable_access_token(&self, tokens: &GoogleTokens, rejected: Option<&str>) -> Option<String> {
        let is_usable = tokens.is_fresh(self.clock.now()) && rejected != Some(tokens.access.as_str());
        is_usable.then(|| tokens.access.clone())
    }

    /// Seals tokens for their row in the database.
    pub(super) fn seal_tokens(&self, user: UserId, tokens: &GoogleTokens) -> Result<Vec<u8>, DriveError> {
        let plain = serde_json::to_vec(tokens).map_err(|error| DriveError::Internal(error.into()))?;
        Ok(self.secrets.seal(&seal_context(user), &plain)?)
    }

    /// Opens what [`seal_tokens`](Self::seal_tokens) sealed.
    pub(super) fn open_tokens(&self, user: UserId, sealed: &[u8]) -> Result<GoogleTokens, DriveError> {
        let plain = self.secrets.open(&seal_context(user), sealed)?;
        serde_json::from_slice(&plain).map_err(|error| DriveError::Internal(error.into()))
    }
}

/// Returns the context that sealed tokens are bound to.
fn seal_context(user: UserId) -> String {
    format!("credentials/secret/{user}/{PROVIDER}")
}
