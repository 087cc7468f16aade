//! Linking a user's Google Drive: the authorization code flow with PKCE, which begins and ends in the same browser.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::UserId;
use platform::secret_sealing::{SealError, random_bytes};
use serde::{Deserialize, Serialize};
use storage::audit_events::AuditEventKind;
use storage::credentials::Authorization;
use url::Url;

use super::error::DriveError;
use super::{GoogleDrive, PROVIDER};

/// Maximum time that linking may take, in seconds.
pub const LINK_LIFETIME_SECONDS: i64 = 600;
/// Scopes: reading all files, and writing those that this installation created.
const SCOPES: &str = "https://www.googleapis.com/auth/drive.readonly https://www.googleapis.com/auth/drive.file";
/// Path to which Google redirects the browser.
const CALLBACK_PATH: &str = "/api/google-drive/callback";

/// A link that was started.
#[derive(Debug)]
pub struct PendingLink {
    /// Google's authorization page.
    pub url: Url,
    /// Secret that the browser must present in a cookie to complete the link.
    pub browser_secret: String,
}

/// Error of [`GoogleDrive::complete_link`].
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// The state is unknown, used or expired, or the browser is not the one that started the link.
    #[error("the link was started in another browser, or has expired")]
    NotStartedHere,
    /// Google rejected the authorization code.
    #[error("Google rejected the authorization code")]
    CodeRejected,
    /// Google or this server failed.
    #[error(transparent)]
    Failed(#[from] DriveError),
}

/// Secrets of a pending link, as they are sealed.
#[derive(Serialize, Deserialize)]
struct LinkSecrets {
    verifier: String,
    browser: String,
}

impl GoogleDrive {
    /// Starts a link, which [`complete_link`](Self::complete_link) completes.
    pub async fn start_link(&self, user: UserId) -> Result<PendingLink, DriveError> {
        let client = self.settings.client.as_ref().ok_or(DriveError::NotConfigured)?;
        let (state, verifier, browser) = (random_text()?, random_text()?, random_text()?);
        let mut url = self.settings.endpoints.authorize.clone();
        url.query_pairs_mut().extend_pairs([
            ("client_id", client.id.as_str()),
            ("redirect_uri", self.redirect_uri()?.as_str()),
            ("response_type", "code"),
            ("scope", SCOPES),
            ("state", &state),
            ("code_challenge", &URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()))),
            ("code_challenge_method", "S256"),
            // Google issues a refresh token with these two only, also if the user has consented before.
            ("access_type", "offline"),
            ("prompt", "consent"),
        ]);
        let secrets = LinkSecrets { verifier, browser };
        let plain = serde_json::to_vec(&secrets).map_err(|error| DriveError::Internal(error.into()))?;
        let now = self.clock.now();
        let authorization = Authorization {
            owner: user,
            secret: self.secrets.seal(&seal_context(&state), &plain)?,
            expires_at: now.plus_seconds(LINK_LIFETIME_SECONDS),
        };
        self.storage.credentials().insert_authorization(&state, PROVIDER, &authorization, now).await?;
        Ok(PendingLink { url, browser_secret: secrets.browser })
    }

    /// Completes a link with the parameters of Google's redirect. The state is valid once, and in the browser that
    /// started the link only.
    pub async fn complete_link(&self, state: &str, code: Option<&str>, browser: &str) -> Result<(), LinkError> {
        let now = self.clock.now();
        let pending =
            self.storage.credentials().take_authorization(state, PROVIDER, now).await.map_err(DriveError::from)?;
        // Taken before anything is checked: a state that was shown once is spent, whatever the outcome.
        let pending = pending.ok_or(LinkError::NotStartedHere)?;
        let plain = self.secrets.open(&seal_context(state), &pending.secret).map_err(DriveError::from)?;
        let secrets: LinkSecrets =
            serde_json::from_slice(&plain).map_err(|error| DriveError::Internal(error.into()))?;
        // Otherwise an attacker could send the address of their own consent to a signed-in user, or use a stolen one.
        verify_slices_are_equal(secrets.browser.as_bytes(), browser.as_bytes())
            .map_err(|_| LinkError::NotStartedHere)?;
        // No code: the user has declined on Google's page.
        let code = code.ok_or(LinkError::CodeRejected)?;
        let redirect_uri = self.redirect_uri()?;
        let tokens = self.exchange_code(&redirect_uri, code, &secrets.verifier, now).await?;
        let tokens = tokens.ok_or(LinkError::CodeRejected)?;
        let sealed = self.seal_tokens(pending.owner, &tokens)?;
        let events = self.audit.by_user(pending.owner, AuditEventKind::GoogleDriveLinked);
        let stored = self.storage.credentials().set(pending.owner, PROVIDER, &sealed, now, &events).await;
        stored.map_err(DriveError::from)?;
        Ok(())
    }

    /// Returns whether a user's Google Drive is linked.
    pub async fn is_linked(&self, user: UserId) -> Result<bool, DriveError> {
        Ok(self.storage.credentials().get(user, PROVIDER).await?.is_some())
    }

    /// Deletes a user's authorisation and revokes it at Google.
    pub async fn unlink(&self, user: UserId) -> Result<(), DriveError> {
        let events = self.audit.by_user(user, AuditEventKind::GoogleDriveUnlinked);
        let sealed = self.storage.credentials().take(user, PROVIDER, &events).await?;
        self.revoke_authorisation(user, sealed).await;
        Ok(())
    }

    /// Deletes the authorisation of a user whose account is deleted, and returns it sealed, for
    /// [`revoke_authorisation`](Self::revoke_authorisation).
    pub async fn take_authorisation(&self, user: UserId) -> Result<Option<Vec<u8>>, storage::Error> {
        self.storage.credentials().take(user, PROVIDER, &[]).await
    }

    /// Revokes an authorisation at Google. A failure is logged only, because the authorisation is deleted here.
    pub async fn revoke_authorisation(&self, user: UserId, sealed: Option<Vec<u8>>) {
        let Some(sealed) = sealed else { return };
        let revoked = match self.open_tokens(user, &sealed) {
            Ok(tokens) => self.revoke_tokens(&tokens).await,
            Err(error) => Err(error),
        };
        if let Err(error) = revoked {
            tracing::warn!(%error, "deleted a Google authorisation that could not be revoked");
        }
    }

    fn redirect_uri(&self) -> Result<Url, DriveError> {
        self.settings.site_url.join(CALLBACK_PATH).map_err(|error| DriveError::Internal(error.into()))
    }
}

/// Returns 256 random bits as 43 characters, which fit a state, a code verifier and a cookie.
fn random_text() -> Result<String, SealError> {
    Ok(URL_SAFE_NO_PAD.encode(random_bytes::<32>()?))
}

/// Returns the context that the secrets of a pending link are bound to.
fn seal_context(state: &str) -> String {
    format!("authorizations/secret/{state}")
}
