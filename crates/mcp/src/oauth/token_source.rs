//! Access tokens for requests, renewed before they expire and when they are rejected.

use http::StatusCode;
use http::header::AUTHORIZATION;
use url::Url;

use super::client::OAuthClient;
use super::credentials::{CredentialOwner, Credentials, GrantType, SecretString, resource_covers};
use super::error::{CredentialStoreError, SignInError};
use super::token_endpoint::{TokenGrant, request_tokens, revoke_tokens};
use crate::Error;

/// Source of the access tokens of one owner at one server.
///
/// It holds no token itself: each request loads the current one, so that a sign-in, a renewal and a sign-out take
/// effect at once on every node.
#[derive(Debug, Clone)]
pub struct TokenSource {
    oauth: OAuthClient,
    owner: CredentialOwner,
    url: Url,
}

impl TokenSource {
    /// Returns the current token, renewed if it is about to expire; `None` if the user has to sign in first.
    ///
    /// # Errors
    ///
    /// [`Error::Renewal`] if the renewal failed temporarily.
    pub async fn token(&self) -> Result<Option<SecretString>, Error> {
        let now = self.oauth.clock().now();
        match self.current_credentials().await?.and_then(|credentials| credentials.tokens) {
            None => Ok(None),
            Some(tokens) if tokens.is_fresh(now) => Ok(Some(tokens.access)),
            Some(_) => self.renew(None).await,
        }
    }

    /// Returns the token to try instead of one that the server rejected; `None` if the user has to sign in again.
    pub(crate) async fn replace_rejected(&self, rejected: &SecretString) -> Result<Option<SecretString>, Error> {
        self.renew(Some(rejected.clone())).await
    }

    /// Sends a request with the token, and once more with a new one if the server rejects it.
    pub(crate) async fn send(
        &self,
        http: &reqwest::Client,
        request: reqwest::RequestBuilder,
    ) -> Result<reqwest::Response, Error> {
        let request = request.build().map_err(|error| Error::from_http(&error))?;
        // A streamed body cannot be cloned; the messages of the protocol are in memory.
        let repeat = request.try_clone();
        // The token is for this origin only, whatever address the protocol library uses.
        let token = if request.url().origin() == self.url.origin() { self.token().await? } else { None };
        let response = execute(http, request, token.as_ref()).await?;
        if response.status() == StatusCode::UNAUTHORIZED
            && let (Some(repeat), Some(token)) = (repeat, &token)
            && let Some(other) = self.replace_rejected(token).await?
        {
            return execute(http, repeat, Some(&other)).await;
        }
        Ok(response)
    }

    /// Loads the current credentials, if they are for this server.
    async fn current_credentials(&self) -> Result<Option<Credentials>, CredentialStoreError> {
        let sets = self.oauth.store().load(self.owner).await?;
        Ok(sets.into_iter().next().filter(|credentials| resource_covers(&credentials.resource, &self.url)))
    }

    /// Renews the token in a task of its own, which is not cancelled with its caller: the old refresh token is spent,
    /// and the new one must not be lost.
    async fn renew(&self, rejected: Option<SecretString>) -> Result<Option<SecretString>, Error> {
        let source = self.clone();
        let renewal = self.oauth.renewals().spawn(async move { source.renew_locked(rejected).await });
        renewal.await.unwrap_or(Err(Error::Cancelled))
    }

    /// Renews the token under the lock on the credentials, so that concurrent requests renew it once.
    async fn renew_locked(&self, rejected: Option<SecretString>) -> Result<Option<SecretString>, Error> {
        let _lock = self.oauth.lock_credentials(self.owner).await?;
        let now = self.oauth.clock().now();
        let Some(credentials) = self.current_credentials().await? else { return Ok(None) };
        let Some(tokens) = credentials.tokens.clone() else { return Ok(None) };
        // Another request may have renewed it while this one waited for the lock.
        let was_renewed = rejected.as_ref().is_some_and(|rejected| *rejected != tokens.access);
        if was_renewed || (rejected.is_none() && tokens.is_fresh(now)) {
            return Ok(Some(tokens.access));
        }
        // The fallback if the renewal fails: a token that was not rejected is good until it expires.
        let old = Some(tokens.access.clone()).filter(|_| rejected.is_none() && tokens.is_valid(now));
        let grant = match (credentials.grant, &tokens.refresh) {
            (GrantType::ClientCredentials, _) => TokenGrant::ClientCredentials,
            (GrantType::AuthorizationCode, Some(refresh)) => TokenGrant::Refresh(refresh),
            (GrantType::AuthorizationCode, None) => return Ok(old),
        };
        match request_tokens(self.oauth.http(), &credentials, grant, now).await {
            Ok(tokens) => {
                let access = tokens.access.clone();
                let credentials = Credentials { tokens: Some(tokens), ..credentials };
                self.oauth.store().save(self.owner, credentials).await?;
                Ok(Some(access))
            }
            // The client identity stays, so that the next sign-in needs no new registration.
            Err(error) if error.is_invalid_grant() => {
                self.oauth.store().save(self.owner, Credentials { tokens: None, ..credentials }).await?;
                Ok(None)
            }
            Err(error) if error.is_invalid_client() => {
                self.oauth.store().delete(self.owner).await?;
                Ok(None)
            }
            Err(error) => old.map(Some).ok_or_else(|| Error::Renewal(error.to_string())),
        }
    }
}

impl OAuthClient {
    /// Returns the token source of `owner` for the server at `url`, for a
    /// [`ConnectionTarget`](crate::ConnectionTarget). The owner need not have signed in yet.
    pub fn token_source(&self, owner: CredentialOwner, url: Url) -> TokenSource {
        TokenSource { oauth: self.clone(), owner, url: to_http_scheme(url) }
    }

    /// Signs the owner out: revokes the tokens at the authorization servers and deletes all credentials. Returns
    /// whether all servers confirmed the revocation; some do not support it.
    pub async fn sign_out(&self, owner: CredentialOwner) -> Result<bool, SignInError> {
        let _lock = self.lock_credentials(owner).await?;
        let mut confirmed = true;
        for credentials in &self.store().load(owner).await? {
            // An unreachable authorization server must not keep a user from signing out here.
            confirmed &= self.revoke(credentials).await.unwrap_or(false);
        }
        self.store().delete(owner).await?;
        Ok(confirmed)
    }

    /// Revokes tokens that are not stored any more. Returns whether the authorization server confirmed it; some do not
    /// support it.
    pub async fn revoke(&self, credentials: &Credentials) -> Result<bool, SignInError> {
        if !credentials.is_signed_in() {
            return Ok(true);
        }
        revoke_tokens(self.http(), credentials, self.clock().now()).await
    }
}

/// Sends a request with a token.
async fn execute(
    http: &reqwest::Client,
    mut request: reqwest::Request,
    token: Option<&SecretString>,
) -> Result<reqwest::Response, Error> {
    if let Some(token) = token {
        let header = bearer_header(token)?;
        request.headers_mut().insert(AUTHORIZATION, header);
    }
    http.execute(request).await.map_err(|error| Error::from_http(&error))
}

/// Builds the `Authorization` header with a token, marked as sensitive.
pub(crate) fn bearer_header(token: &SecretString) -> Result<http::HeaderValue, Error> {
    let mut header = http::HeaderValue::try_from(format!("Bearer {}", token.expose()))
        .map_err(|_| Error::Header("its token is not valid in a header".to_owned()))?;
    header.set_sensitive(true);
    Ok(header)
}

/// Replaces a WebSocket scheme by the HTTP scheme of the same origin.
pub(super) fn to_http_scheme(mut url: Url) -> Url {
    let scheme = match url.scheme() {
        "ws" => "http",
        "wss" => "https",
        _ => return url,
    };
    let _ = url.set_scheme(scheme);
    url
}
