//! Sign-in of a user at the authorization server, and back.

use std::fmt;
use std::time::Duration;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::Url;

use super::challenge::AuthChallenge;
use super::client::OAuthClient;
use super::client_registration::{choose_client, manual_client};
use super::credentials::{ClientIdentity, CredentialOwner, Credentials, GrantType, RegisteredClient, SecretString};
use super::discovery::{DiscoveredServer, discover};
use super::error::SignInError;
use super::metadata::ServerMetadata;
use super::token_endpoint::{TokenGrant, request_tokens};
use super::token_source::to_http_scheme;
use crate::Error;
use crate::error::sanitize_text;

/// Time limit for the discovery, over all documents.
const DISCOVERY_TIMEOUT: Duration = Duration::from_secs(20);
/// Time that a user has for the sign-in.
const SIGN_IN_LIFETIME_MILLIS: u64 = 10 * 60 * 1000;
/// Number of times that the same scopes are requested again within [`SIGN_IN_LIFETIME_MILLIS`]: the user may have
/// unticked one on the consent page.
const MAX_SCOPE_REPEATS: u8 = 1;
/// Scope that is added where the server knows it, because it brings a refresh token.
const OFFLINE_ACCESS: &str = "offline_access";

/// Request to sign an owner in.
#[derive(Debug, Clone)]
pub struct SignInRequest {
    /// Owner of the future credentials.
    pub owner: CredentialOwner,
    /// Address of the MCP server.
    pub url: Url,
    /// Challenge of the server; `None` if the user starts the sign-in without one.
    pub challenge: Option<AuthChallenge>,
    /// Client that the user registered manually and entered.
    pub client: Option<RegisteredClient>,
}

/// Sign-in that waits for the user.
#[derive(Clone)]
pub struct AwaitedSignIn {
    /// Address that the user's browser opens.
    pub url: Url,
    /// Key of `pending`, which returns in [`SignInCallback::state`].
    pub state: String,
    /// Input of [`OAuthClient::complete_sign_in`]. Store it encrypted, and use it once and for this user only.
    pub pending: PendingSignIn,
}

/// State of a sign-in between its two halves.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PendingSignIn {
    owner: CredentialOwner,
    state: SecretString,
    verifier: SecretString,
    redirect_uri: Url,
    /// The server promised to name itself in the callback (RFC 9207).
    names_itself: bool,
    /// Future credentials, still without tokens.
    credentials: Credentials,
}

/// Query parameters with which the browser returns.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SignInCallback {
    /// State of the sign-in.
    pub state: String,
    /// Authorization code.
    pub code: Option<String>,
    /// Issuer of the response (RFC 9207).
    pub iss: Option<String>,
    /// Error code, if there is no code.
    pub error: Option<String>,
    /// Description of the error.
    pub error_description: Option<String>,
}

impl fmt::Debug for AwaitedSignIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AwaitedSignIn").field("pending", &self.pending).finish_non_exhaustive()
    }
}

impl fmt::Debug for SignInCallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SignInCallback")
    }
}

impl PendingSignIn {
    /// Returns the owner.
    pub fn owner(&self) -> CredentialOwner {
        self.owner
    }

    /// Returns the issuer of the authorization server.
    pub fn issuer(&self) -> &str {
        &self.credentials.issuer
    }
}

impl OAuthClient {
    /// Starts a sign-in: discovers the authorization server and chooses the client identity. Contacts several
    /// servers, and takes up to half a minute if they are slow.
    pub async fn start_sign_in(&self, request: SignInRequest) -> Result<AwaitedSignIn, SignInError> {
        let (found, known) = self.discover_for(&request).await?;
        let endpoint = found.server.authorization_endpoint.clone();
        let endpoint = endpoint.ok_or(SignInError::Document("it has no page to sign in at"))?;
        // The user's browser opens this address, so a server must not lead it to a private or a non-HTTP one.
        self.http().policy().check_browser_url(&endpoint).await?;
        found.server.check_pkce()?;
        let known = known.iter().find(|known| known.issuer == found.server.issuer);
        let now = self.clock().now();
        let (requested, repeats) = choose_scopes(&found, request.challenge.as_ref(), known, now)?;
        let (http, metadata) = (self.http(), self.metadata());
        let client = choose_client(http, metadata, &found.server, request.client.as_ref(), known, now).await?;

        let (state, verifier) = (SecretString::generate()?, SecretString::generate()?);
        let names_itself = found.server.authorization_response_iss_parameter_supported;
        let credentials = new_credentials(found, client, GrantType::AuthorizationCode, requested, repeats, now);
        let redirect_uri = metadata.redirect_uri.clone();
        let url = authorization_url(endpoint, &credentials, &redirect_uri, state.expose(), verifier.expose());
        let (owner, key) = (request.owner, state.expose().to_owned());
        let pending = PendingSignIn { owner, state, verifier, redirect_uri, names_itself, credentials };
        Ok(AwaitedSignIn { url, state: key, pending })
    }

    /// Completes a sign-in for the owner whose browser returned. After that the owner's
    /// [token sources](OAuthClient::token_source) have a token.
    ///
    /// # Errors
    ///
    /// [`SignInError::State`] if the callback belongs to another sign-in or owner.
    pub async fn complete_sign_in(
        &self,
        owner: CredentialOwner,
        pending: PendingSignIn,
        callback: SignInCallback,
    ) -> Result<(), SignInError> {
        let now = self.clock().now();
        // Compared in constant time, because the state is a secret.
        let same = verify_slices_are_equal(callback.state.as_bytes(), pending.state.expose().as_bytes());
        if same.is_err() || pending.owner != owner {
            return Err(SignInError::State);
        }
        if now.millis_since(pending.credentials.signed_in_at) > SIGN_IN_LIFETIME_MILLIS {
            return Err(SignInError::Expired);
        }
        // Before anything else of the callback is used: it may be another server's (mix-up attack, RFC 9207).
        match &callback.iss {
            Some(iss) if *iss != pending.credentials.issuer => return Err(SignInError::Issuer),
            None if pending.names_itself => return Err(SignInError::Issuer),
            _ => {}
        }
        if let Some(error) = callback.error {
            let words = callback.error_description.filter(|words| !words.trim().is_empty());
            return Err(SignInError::Denied(sanitize_text(&words.unwrap_or(error))));
        }
        let code = callback.code.filter(|code| !code.is_empty()).ok_or(SignInError::State)?;
        let grant = TokenGrant::AuthorizationCode {
            code: &code,
            verifier: &pending.verifier,
            redirect_uri: &pending.redirect_uri,
        };
        self.obtain_tokens(owner, pending.credentials, grant, now).await
    }

    /// Signs in without a user, with the client's own credentials. The tokens are renewed in the same way.
    pub async fn sign_in_as_client(&self, request: SignInRequest) -> Result<(), SignInError> {
        let (found, _) = self.discover_for(&request).await?;
        let manual = request.client.as_ref().ok_or(SignInError::NeedsClient)?;
        let client = manual_client(&found.server, manual)?;
        let now = self.clock().now();
        // No repetition is counted: without a user there is nobody who could have unticked a scope.
        let (requested, _) = choose_scopes(&found, request.challenge.as_ref(), None, now)?;
        let credentials = new_credentials(found, client, GrantType::ClientCredentials, requested, 0, now);
        self.obtain_tokens(request.owner, credentials, TokenGrant::ClientCredentials, now).await
    }

    /// Discovers the authorization server, and loads the credentials that the owner has already.
    async fn discover_for(&self, request: &SignInRequest) -> Result<(DiscoveredServer, Vec<Credentials>), SignInError> {
        let known = self.store().load(request.owner).await?;
        let url = to_http_scheme(request.url.clone());
        let discovery = discover(self.http(), &url, request.challenge.as_ref(), &known);
        let found = tokio::time::timeout(DISCOVERY_TIMEOUT, discovery)
            .await
            .unwrap_or(Err(Error::Timeout(DISCOVERY_TIMEOUT).into()))?;
        Ok((found, known))
    }

    /// Requests the tokens and stores the credentials.
    async fn obtain_tokens(
        &self,
        owner: CredentialOwner,
        mut credentials: Credentials,
        grant: TokenGrant<'_>,
        now: Timestamp,
    ) -> Result<(), SignInError> {
        let mut obtained = request_tokens(self.http(), &credentials, grant, now).await;
        // Some servers accept the secret in only one of the two places and do not say in which.
        if let Err(error) = &obtained
            && error.is_invalid_client()
            && let Some(client) = credentials.client.with_other_authentication()
        {
            credentials.client = client;
            obtained = request_tokens(self.http(), &credentials, grant, now).await;
        }
        match obtained {
            Ok(tokens) => {
                // Under the lock, so that a renewal in progress does not overwrite the new tokens.
                let _lock = self.lock_credentials(owner).await?;
                let credentials = Credentials { tokens: Some(tokens), signed_in_at: now, ..credentials };
                Ok(self.store().save(owner, credentials).await?)
            }
            Err(error) => {
                if error.is_invalid_client() {
                    // The server has forgotten the client: the next sign-in has to register it again.
                    let _lock = self.lock_credentials(owner).await?;
                    self.store().delete(owner).await?;
                }
                Err(error)
            }
        }
    }
}

fn new_credentials(
    found: DiscoveredServer,
    client: ClientIdentity,
    grant: GrantType,
    requested: Vec<String>,
    repeats: u8,
    now: Timestamp,
) -> Credentials {
    let ServerMetadata { issuer, token_endpoint, revocation_endpoint, .. } = found.server;
    Credentials {
        issuer,
        resource: found.resource,
        client,
        token_endpoint,
        revocation_endpoint,
        grant,
        requested,
        repeats,
        signed_in_at: now,
        tokens: None,
    }
}

/// Chooses the scopes to request: those of the challenge, else all that the server declares, added to those that were
/// requested before. Returns them with the number of times in a row that nothing was added.
///
/// # Errors
///
/// [`SignInError::Repeated`] if the server keeps asking for scopes that were just granted.
fn choose_scopes(
    found: &DiscoveredServer,
    challenge: Option<&AuthChallenge>,
    known: Option<&Credentials>,
    now: Timestamp,
) -> Result<(Vec<String>, u8), SignInError> {
    let mut wanted = challenge.map(AuthChallenge::scopes).unwrap_or_default();
    if wanted.is_empty() {
        wanted.clone_from(&found.scopes);
    }
    let before = known.map(|known| known.requested.as_slice()).unwrap_or_default();
    let is_new = wanted.iter().any(|scope| !before.contains(scope));
    let repeats = match (challenge, known) {
        (Some(_), Some(known)) if !is_new && was_just_granted(known, now) => known.repeats + 1,
        _ => 0,
    };
    if repeats > MAX_SCOPE_REPEATS {
        return Err(SignInError::Repeated);
    }
    let offline = found.server.scopes_supported.iter().any(|scope| scope == OFFLINE_ACCESS);
    let mut scopes = before.to_vec();
    scopes.extend(wanted.into_iter().filter(|scope| !before.contains(scope)));
    // Alone it would replace the default scopes that a server grants to a request without scopes.
    if offline && !scopes.is_empty() && !scopes.iter().any(|scope| scope == OFFLINE_ACCESS) {
        scopes.push(OFFLINE_ACCESS.to_owned());
    }
    Ok((scopes, repeats))
}

fn was_just_granted(known: &Credentials, now: Timestamp) -> bool {
    let valid = known.tokens.as_ref().is_some_and(|tokens| tokens.is_valid(now));
    valid && now.millis_since(known.signed_in_at) <= SIGN_IN_LIFETIME_MILLIS
}

/// Builds the address of the consent page, with PKCE (RFC 7636) and the resource indicator (RFC 8707).
fn authorization_url(mut url: Url, credentials: &Credentials, redirect_uri: &Url, state: &str, verifier: &str) -> Url {
    let challenge = URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()));
    let mut query = url.query_pairs_mut();
    query
        .append_pair("response_type", "code")
        .append_pair("client_id", &credentials.client.id)
        .append_pair("redirect_uri", redirect_uri.as_str())
        .append_pair("state", state)
        .append_pair("code_challenge", &challenge)
        .append_pair("code_challenge_method", "S256")
        .append_pair("resource", &credentials.resource);
    if !credentials.requested.is_empty() {
        query.append_pair("scope", &credentials.requested.join(" "));
    }
    // OpenID Connect grants offline access only with the consent of the user.
    if credentials.requested.iter().any(|scope| scope == OFFLINE_ACCESS) {
        query.append_pair("prompt", "consent");
    }
    drop(query);
    url
}
