//! Linking a person's Google Drive: the authorization code flow with PKCE, begun and ended in the same browser.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::UserId;
use serde::{Deserialize, Serialize};
use store::credentials::Authorization;
use url::Url;

use super::error::DriveError;
use super::{PROVIDER, token, tokens};
use crate::app::App;
use platform::secret_sealing::{SealError, random_bytes};

/// How long a person may take at Google's, in seconds.
pub const LIFETIME: i64 = 600;
/// Reading everything, writing only what was created here.
const SCOPES: &str = "https://www.googleapis.com/auth/drive.readonly https://www.googleapis.com/auth/drive.file";
const CALLBACK: &str = "/api/google-drive/callback";

/// A link that was begun.
#[derive(Debug)]
pub struct Begun {
    /// Where to send the browser.
    pub url: Url,
    /// What the browser has to bring back in a cookie.
    pub browser: String,
}

/// Why a link did not come about.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// Unknown, used or expired state, or another browser than the one in which it was begun.
    #[error("the link was not begun here, or took too long")]
    NotBegunHere,
    /// Google does not accept the code.
    #[error("Google did not accept the code")]
    NotAccepted,
    /// Google failed, or we did.
    #[error(transparent)]
    Failed(#[from] DriveError),
}

#[derive(Serialize, Deserialize)]
struct Secret {
    verifier: String,
    browser: String,
}

/// Begins a link.
pub async fn begin(app: &App, user: UserId) -> Result<Begun, DriveError> {
    let google = app.config.google.as_ref().ok_or(DriveError::NotConfigured)?;
    let (state, verifier, browser) = (token_text()?, token_text()?, token_text()?);
    let mut url = app.config.google_endpoints.authorize.clone();
    url.query_pairs_mut().extend_pairs([
        ("client_id", google.id.as_str()),
        ("redirect_uri", redirect(app)?.as_str()),
        ("response_type", "code"),
        ("scope", SCOPES),
        ("state", &state),
        ("code_challenge", &URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()))),
        ("code_challenge_method", "S256"),
        // A refresh token, also when the person has consented before.
        ("access_type", "offline"),
        ("prompt", "consent"),
    ]);
    let secret = Secret { verifier, browser };
    let plain = serde_json::to_vec(&secret).map_err(|error| DriveError::Internal(error.into()))?;
    let now = app.clock.now();
    let authorization = Authorization {
        owner: user,
        secret: app.secrets.seal(&place(&state), &plain)?,
        expires_at: now.plus_seconds(LIFETIME),
    };
    app.store.insert_authorization(&state, PROVIDER, &authorization, now).await?;
    Ok(Begun { url, browser: secret.browser })
}

/// Ends a link with what came back from Google: the state is good once, and only in the browser that began it.
pub async fn complete(app: &App, state: &str, code: Option<&str>, browser: &str) -> Result<(), LinkError> {
    let now = app.clock.now();
    let begun = app.store.take_authorization(state, PROVIDER, now).await.map_err(DriveError::from)?;
    let begun = begun.ok_or(LinkError::NotBegunHere)?;
    let plain = app.secrets.open(&place(state), &begun.secret).map_err(DriveError::from)?;
    let secret: Secret = serde_json::from_slice(&plain).map_err(|error| DriveError::Internal(error.into()))?;
    verify_slices_are_equal(secret.browser.as_bytes(), browser.as_bytes()).map_err(|_| LinkError::NotBegunHere)?;
    let code = code.ok_or(LinkError::NotAccepted)?;
    let redirect = redirect(app)?;
    let token = token::exchange(&app.google_drive.http, &app.config, &redirect, code, &secret.verifier, now).await?;
    let token = token.ok_or(LinkError::NotAccepted)?;
    let sealed = tokens::seal(app, begun.owner, &token)?;
    app.store.set_credential(begun.owner, PROVIDER, &sealed, now).await.map_err(DriveError::from)?;
    Ok(())
}

/// Whether a person's Google Drive is linked.
pub async fn is_linked(app: &App, user: UserId) -> Result<bool, DriveError> {
    Ok(app.store.get_credential(user, PROVIDER).await?.is_some())
}

/// Forgets a person's authorisation, and tells Google.
pub async fn unlink(app: &App, user: UserId) -> Result<(), DriveError> {
    let sealed = take(app, user).await?;
    revoke(app, user, sealed).await;
    Ok(())
}

/// Forgets a person's authorisation and hands it out, for [`revoke`].
pub async fn take(app: &App, user: UserId) -> Result<Option<Vec<u8>>, store::Error> {
    app.store.take_credential(user, PROVIDER).await
}

/// Tells Google that an authorisation is over. What Google says to that changes nothing here.
pub async fn revoke(app: &App, user: UserId, sealed: Option<Vec<u8>>) {
    let Some(sealed) = sealed else { return };
    let revoked = match tokens::open(app, user, &sealed) {
        Ok(token) => token::revoke(&app.google_drive.http, &app.config, &token).await,
        Err(error) => Err(error),
    };
    if let Err(error) = revoked {
        tracing::warn!(%error, "an authorisation was forgotten here and not revoked at Google");
    }
}

fn redirect(app: &App) -> Result<Url, DriveError> {
    app.site_url.join(CALLBACK).map_err(|error| DriveError::Internal(error.into()))
}

/// 256 random bits as 43 characters, which suit a state, a code verifier and a cookie alike.
fn token_text() -> Result<String, SealError> {
    Ok(URL_SAFE_NO_PAD.encode(random_bytes::<32>()?))
}

fn place(state: &str) -> String {
    format!("authorizations/secret/{state}")
}
