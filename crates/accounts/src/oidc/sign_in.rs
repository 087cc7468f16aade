//! The flow of a sign-in: the authorization request, and the redirect back from the provider.
//!
//! The `state` is single use and lasts ten minutes. What is needed to complete the sign-in is stored encrypted under its
//! hash, so that any node can complete it, and is bound to the browser that began it by a cookie: otherwise an attacker
//! could complete their own sign-in in another user's browser.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use platform::secret_sealing::random_bytes;
use serde::{Deserialize, Serialize};
use storage::auth_codes::{Challenge, ChallengeMethod};
use storage::identities::ProviderSignIn;
use url::Url;

use super::IdentityProvider;
use super::discovery::IssuerMetadata;
use super::error::OidcError;
use super::id_token::ExpectedToken;
use super::identity_link::LinkOwner;
use super::profile::ProviderProfile;
use crate::audit::RequestOrigin;
use crate::gotrue_error::{
    OAUTH_CALLBACK_INVALID, OAUTH_CODE_MISSING, OAUTH_OTHER_BROWSER, OAUTH_STATE_MISSING, OAUTH_STATE_UNKNOWN,
    PROVIDER_FAILED, PROVIDER_NOT_ENABLED, USER_BANNED,
};
use crate::sessions::UserSession;
use crate::{AccountService, AuthError};

/// Maximum time that a sign-in may take, in seconds.
pub const SIGN_IN_LIFETIME_SECONDS: i64 = 600;
/// Length of the secret in the browser's cookie, in characters.
const BROWSER_SECRET_CHARS: usize = 43;
/// Method of authentication for the `amr` claim, as in GoTrue.
pub(super) const AMR_METHOD: &str = "oauth";
/// Maximum length of an error text of the provider, in characters. It becomes part of a URL.
const MAX_PROVIDER_ERROR_CHARS: usize = 200;

/// Where a sign-in leads.
#[derive(Debug, Clone)]
pub struct SignInTarget {
    /// Allowed redirect target.
    pub redirect: Url,
    /// Challenge of a client that uses PKCE.
    pub challenge: Option<Challenge>,
    /// Further scopes, separated by spaces.
    pub scopes: String,
    /// Registration token of a user who has no account yet.
    pub registration_token: Option<String>,
}

/// A sign-in that has begun.
#[derive(Debug)]
pub struct BegunSignIn {
    /// The provider's page.
    pub url: Url,
    /// Secret that the browser has to present in a cookie to complete the sign-in.
    pub browser_secret: String,
}

/// Query of the provider's redirect.
#[derive(Debug, Default)]
pub struct ProviderCallback {
    /// State of the authorization request.
    pub state: Option<String>,
    /// Code to exchange.
    pub code: Option<String>,
    /// Issuer identifier (RFC 9207).
    pub iss: Option<String>,
    /// Error code.
    pub error: Option<String>,
    /// Description of the error.
    pub error_description: Option<String>,
}

/// Result of a completed sign-in.
#[derive(Debug)]
pub enum SignInOutcome {
    /// The user is signed in.
    SignedIn(Box<UserSession>),
    /// Auth code that the client which began the sign-in can exchange for a session (PKCE).
    AuthCode(String),
    /// The provider, or the user at the provider, has declined.
    Declined {
        /// Error code of OAuth.
        error: String,
        /// The provider's description.
        description: String,
    },
}

/// Answer of the provider to a sign-in.
enum ProviderAnswer {
    /// What it says about the user, and the ID token.
    Verified(Box<ProviderProfile>, String),
    /// The provider, or the user there, has declined.
    Declined { error: String, description: String },
}

/// Data that complete a sign-in, as they are sealed.
#[derive(Serialize, Deserialize)]
struct SignInDetails {
    nonce: String,
    verifier: String,
    browser: String,
    redirect: Url,
    challenge: Option<(String, bool)>,
    /// User to whom the account at the provider is linked; without one, its own user signs in.
    #[serde(default)]
    link_to: Option<LinkOwner>,
    /// Registration token of a user who has no account yet.
    #[serde(default)]
    registration_token: Option<String>,
}

impl AccountService {
    /// Begins a sign-in at the identity provider. `browser` is the secret of an earlier sign-in in the same browser, so
    /// that several can run at the same time.
    ///
    /// # Errors
    ///
    /// [`PROVIDER_FAILED`] if the provider does not answer, or a failure of the database.
    pub async fn begin_provider_sign_in(
        &self,
        target: SignInTarget,
        browser: Option<&str>,
    ) -> Result<BegunSignIn, AuthError> {
        self.begin_at_provider(target, browser, None).await
    }

    /// Begins a sign-in, or the link of an identity.
    pub(super) async fn begin_at_provider(
        &self,
        target: SignInTarget,
        browser: Option<&str>,
        link_to: Option<LinkOwner>,
    ) -> Result<BegunSignIn, AuthError> {
        let provider = self.identity_provider.as_ref().ok_or(PROVIDER_NOT_ENABLED)?;
        let metadata = provider.metadata().await.map_err(|error| provider_failed(&error))?;
        let (state, nonce, verifier) = (random_text()?, random_text()?, random_text()?);
        let browser = match browser.filter(|secret| is_browser_secret(secret)) {
            Some(secret) => secret.to_owned(),
            None => random_text()?,
        };
        let url = provider.authorization_url(&metadata, &state, &nonce, &verifier, &target.scopes);
        let details = SignInDetails {
            nonce,
            verifier,
            browser,
            redirect: target.redirect,
            challenge: target.challenge.map(|it| (it.text, it.method == ChallengeMethod::S256)),
            link_to,
            registration_token: target.registration_token,
        };
        let plain = serde_json::to_vec(&details).map_err(AuthError::internal)?;
        let state_hash = sha256(&state);
        let now = self.clock.now();
        let sign_in = ProviderSignIn {
            details: self.secrets.seal(&seal_context(&state_hash), &plain).map_err(AuthError::internal)?,
            state_hash,
            expires_at: now.plus_seconds(SIGN_IN_LIFETIME_SECONDS),
        };
        self.storage.identities().insert_sign_in(&sign_in, now).await?;
        Ok(BegunSignIn { url, browser_secret: details.browser })
    }

    /// Completes a sign-in with the query of the provider's redirect, in the browser with the secret `browser`. Returns
    /// the redirect target of the sign-in with the result; the target is the site if the sign-in is not known.
    pub async fn complete_provider_sign_in(
        &self,
        callback: ProviderCallback,
        browser: &str,
        origin: RequestOrigin,
    ) -> (Url, Result<SignInOutcome, AuthError>) {
        let details = match self.take_sign_in(callback.state.as_deref().unwrap_or_default(), browser).await {
            Ok(details) => details,
            Err(error) => return (self.settings.site_url.clone(), Err(self.record_refusal(error, &origin).await)),
        };
        let redirect = details.redirect.clone();
        let outcome = match self.verify_callback(callback, &details).await {
            Ok(ProviderAnswer::Verified(profile, id_token)) => {
                self.finish_provider_sign_in(*profile, &id_token, details, origin).await
            }
            Ok(ProviderAnswer::Declined { error, description }) if details.link_to.is_some() => {
                Ok(SignInOutcome::Declined { error, description })
            }
            Ok(ProviderAnswer::Declined { error, description }) => {
                let recorded = self.audit_failed_sign_in(None, &origin).await;
                recorded.map(|()| SignInOutcome::Declined { error, description }).map_err(AuthError::from)
            }
            // The user is signed in here, and only wanted to link an account.
            Err(error) if details.link_to.is_some() => Err(error),
            Err(error) => Err(self.record_refusal(error, &origin).await),
        };
        (redirect, outcome)
    }

    /// Records a sign-in that was rejected before the provider named a user. Returns the error of the sign-in.
    async fn record_refusal(&self, error: AuthError, origin: &RequestOrigin) -> AuthError {
        match error {
            AuthError::GoTrue(_) => {
                self.audit_failed_sign_in(None, origin).await.map_or_else(AuthError::from, |()| error)
            }
            _ => error,
        }
    }

    /// Uses up a `state`, and checks that it is of this browser.
    async fn take_sign_in(&self, state: &str, browser: &str) -> Result<SignInDetails, AuthError> {
        if state.is_empty() {
            return Err(OAUTH_STATE_MISSING.into());
        }
        let state_hash = sha256(state);
        let sealed = self.storage.identities().take_sign_in(&state_hash, self.clock.now()).await?;
        let sealed = sealed.ok_or(OAUTH_STATE_UNKNOWN)?;
        let plain = self.secrets.open(&seal_context(&state_hash), &sealed).map_err(AuthError::internal)?;
        let details: SignInDetails = serde_json::from_slice(&plain).map_err(AuthError::internal)?;
        verify_slices_are_equal(details.browser.as_bytes(), browser.as_bytes()).map_err(|_| OAUTH_OTHER_BROWSER)?;
        Ok(details)
    }

    /// Checks the provider's redirect, and requests what the provider says about the user.
    async fn verify_callback(
        &self,
        callback: ProviderCallback,
        details: &SignInDetails,
    ) -> Result<ProviderAnswer, AuthError> {
        let provider = self.identity_provider.as_ref().ok_or(PROVIDER_NOT_ENABLED)?;
        let metadata = provider.metadata().await.map_err(|error| provider_failed(&error))?;
        provider.check_response_issuer(&metadata, callback.iss.as_deref())?;
        if let Some(error) = callback.error {
            return Ok(ProviderAnswer::Declined {
                error: plain_text(&error),
                description: plain_text(&callback.error_description.unwrap_or_default()),
            });
        }
        let code = callback.code.filter(|code| !code.is_empty()).ok_or(OAUTH_CODE_MISSING)?;
        let profile = provider.request_profile(&metadata, &code, details).await;
        let (profile, id_token) = profile.map_err(|error| provider_failed(&error))?;
        Ok(ProviderAnswer::Verified(Box::new(profile), id_token))
    }

    async fn finish_provider_sign_in(
        &self,
        profile: ProviderProfile,
        id_token: &str,
        details: SignInDetails,
        origin: RequestOrigin,
    ) -> Result<SignInOutcome, AuthError> {
        let provider = self.identity_provider.as_ref().ok_or(PROVIDER_NOT_ENABLED)?;
        let (subject, session) = (profile.subject.clone(), profile.session());
        let user = if let Some(owner) = details.link_to {
            self.link_to_owner(owner, &profile).await?
        } else {
            let token = details.registration_token.as_deref();
            let email = profile.email.clone();
            let account = self.account_of_profile(profile, token, origin.address).await;
            if let Err(AuthError::GoTrue(_)) = account {
                self.audit_refused_profile(email, &origin).await?;
            }
            account?
        };
        if provider.settings.signs_out {
            self.keep_id_token(&user, (&provider.settings.issuer, &subject), id_token).await?;
        }
        // Before the auth code, so that the user learns of it at once.
        if user.is_banned(self.clock.now()) {
            self.audit_failed_sign_in(Some(user.id), &origin).await?;
            return Err(USER_BANNED.into());
        }
        let Some((text, is_s256)) = details.challenge else {
            let session = self.create_session_within(user, AMR_METHOD, session.as_ref(), origin).await?;
            return Ok(SignInOutcome::SignedIn(Box::new(session)));
        };
        let method = if is_s256 { ChallengeMethod::S256 } else { ChallengeMethod::Plain };
        let code = self.issue_auth_code(user.id, AMR_METHOD, session, Challenge { text, method }).await?;
        Ok(SignInOutcome::AuthCode(code))
    }

    /// Records a sign-in that was rejected, for the account with the provider's address if there is one.
    async fn audit_refused_profile(&self, email: Option<String>, origin: &RequestOrigin) -> Result<(), AuthError> {
        let user = match email {
            Some(email) => self.storage.users().get_by_email(&email).await?,
            None => None,
        };
        Ok(self.audit_failed_sign_in(user.map(|user| user.id), origin).await?)
    }
}

impl IdentityProvider {
    fn authorization_url(
        &self,
        metadata: &IssuerMetadata,
        state: &str,
        nonce: &str,
        verifier: &str,
        further_scopes: &str,
    ) -> Url {
        let mut scopes: Vec<&str> = self.settings.scopes.iter().map(String::as_str).collect();
        for scope in further_scopes.split_ascii_whitespace() {
            if !scopes.contains(&scope) {
                scopes.push(scope);
            }
        }
        let mut url = metadata.authorization_endpoint.clone();
        url.query_pairs_mut().extend_pairs([
            ("client_id", self.settings.client_id.as_str()),
            ("redirect_uri", self.redirect_uri.as_str()),
            ("response_type", "code"),
            ("scope", &scopes.join(" ")),
            ("state", state),
            ("nonce", nonce),
            ("code_challenge", &URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()))),
            ("code_challenge_method", "S256"),
        ]);
        url
    }

    /// Rejects a redirect from another provider than the one that was asked: that provider would get the code (mix-up
    /// attack, RFC 9207).
    fn check_response_issuer(&self, metadata: &IssuerMetadata, iss: Option<&str>) -> Result<(), AuthError> {
        let is_right = match iss {
            Some(iss) => iss == self.settings.issuer,
            None => !metadata.authorization_response_iss_parameter_supported,
        };
        if is_right { Ok(()) } else { Err(OAUTH_CALLBACK_INVALID.into()) }
    }

    /// Exchanges a code, and returns what the verified ID token says about the user, and the user information if the
    /// token lacks the address or the groups, with the token.
    async fn request_profile(
        &self,
        metadata: &IssuerMetadata,
        code: &str,
        details: &SignInDetails,
    ) -> Result<(ProviderProfile, String), OidcError> {
        let tokens = self.exchange_code(metadata, code, &details.verifier).await?;
        let expected = ExpectedToken { nonce: &details.nonce, access_token: tokens.access_token.as_deref() };
        let claims = self.verify_id_token(metadata, &tokens.id_token, &expected).await?;
        let groups_claim = self.settings.groups_claim.as_deref();
        let mut profile = ProviderProfile::from_claims(&self.settings.issuer, &claims, groups_claim)?;
        let is_incomplete = profile.email.is_none() || (groups_claim.is_some() && profile.groups.is_none());
        if is_incomplete
            && let (Some(endpoint), Some(access_token)) = (&metadata.userinfo_endpoint, &tokens.access_token)
        {
            let further = self.request_user_info(endpoint, access_token, &profile.subject).await?;
            profile.add_claims(&further, groups_claim);
        }
        Ok((profile, tokens.id_token))
    }
}

/// Logs a failure of the provider, and returns the error for the user, who cannot do anything about it.
fn provider_failed(error: &OidcError) -> AuthError {
    tracing::warn!(%error, "a sign-in at the identity provider failed");
    PROVIDER_FAILED.into()
}

/// Returns a text of the provider without control characters, cut to a length that fits a URL.
fn plain_text(text: &str) -> String {
    text.chars().filter(|char| !char.is_control()).take(MAX_PROVIDER_ERROR_CHARS).collect()
}

/// Returns 256 random bits as 43 characters, which fit a state, a nonce, a code verifier and a cookie.
fn random_text() -> Result<String, AuthError> {
    Ok(URL_SAFE_NO_PAD.encode(random_bytes::<32>().map_err(AuthError::internal)?))
}

fn is_browser_secret(text: &str) -> bool {
    text.len() == BROWSER_SECRET_CHARS && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}

fn sha256(text: &str) -> Vec<u8> {
    digest(&SHA256, text.as_bytes()).as_ref().to_vec()
}

/// Returns the location for which the details of a sign-in are sealed.
fn seal_context(state_hash: &[u8]) -> String {
    format!("provider_sign_ins/details/{}", URL_SAFE_NO_PAD.encode(state_hash))
}
