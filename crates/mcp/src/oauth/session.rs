//! Tokens on requests, renewed before they end and when they are refused.

use http::StatusCode;
use http::header::AUTHORIZATION;
use url::Url;

use super::credentials::{Grant, covers};
use super::token::{self, Ask};
use super::{Credentials, OAuth, Owner, Secret, SignInError, StoreError};
use crate::Error;

/// The sign-in of one owner at one server, now and in future. It holds no token itself: each request takes the one
/// that is in use then, so that a sign-in, a renewal and a sign-out count at once, everywhere.
#[derive(Debug, Clone)]
pub struct Session {
    oauth: OAuth,
    owner: Owner,
    url: Url,
}

impl Session {
    pub(super) fn new(oauth: OAuth, owner: Owner, url: Url) -> Self {
        Self { oauth, owner, url: as_http(url) }
    }

    /// The token for a request, renewed if it is about to end; `None` if somebody has to sign in first.
    ///
    /// Fails with [`Error::Renewal`] if it could not be renewed for the moment.
    pub async fn token(&self) -> Result<Option<Secret>, Error> {
        let now = self.oauth.0.clock.now();
        match self.current().await?.and_then(|credentials| credentials.tokens) {
            None => Ok(None),
            Some(tokens) if tokens.is_fresh(now) => Ok(Some(tokens.access)),
            Some(_) => self.renew(None).await,
        }
    }

    /// The token to try instead of one that the server refused.
    pub(crate) async fn instead_of(&self, refused: &Secret) -> Result<Option<Secret>, Error> {
        self.renew(Some(refused.clone())).await
    }

    /// Sends a request with the token, and once more with a new one if the server refuses it.
    pub(crate) async fn send(
        &self,
        http: &reqwest::Client,
        request: reqwest::RequestBuilder,
    ) -> Result<reqwest::Response, Error> {
        let request = request.build().map_err(|error| Error::from_http(&error))?;
        let again = request.try_clone();
        let token = if request.url().origin() == self.url.origin() { self.token().await? } else { None };
        let response = execute(http, request, token.as_ref()).await?;
        if response.status() == StatusCode::UNAUTHORIZED
            && let (Some(again), Some(token)) = (again, &token)
            && let Some(other) = self.instead_of(token).await?
        {
            return execute(http, again, Some(&other)).await;
        }
        Ok(response)
    }

    /// The credentials in use, if they are for this server.
    async fn current(&self) -> Result<Option<Credentials>, StoreError> {
        let sets = self.oauth.0.store.load(self.owner).await?;
        Ok(sets.into_iter().next().filter(|credentials| covers(&credentials.resource, &self.url)))
    }

    /// Renews, once for all who want it at the same time. It goes on when nobody waits for it any more: the old
    /// refresh token is used up, and the new one must not be lost.
    async fn renew(&self, refused: Option<Secret>) -> Result<Option<Secret>, Error> {
        let session = self.clone();
        let renewal = self.oauth.0.tasks.spawn(async move { session.renew_alone(refused).await });
        renewal.await.unwrap_or(Err(Error::Cancelled))
    }

    async fn renew_alone(&self, refused: Option<Secret>) -> Result<Option<Secret>, Error> {
        let _change = self.oauth.change(self.owner).await?;
        let now = self.oauth.0.clock.now();
        let Some(credentials) = self.current().await? else { return Ok(None) };
        let Some(tokens) = credentials.tokens.clone() else { return Ok(None) };
        // Somebody else may have been faster.
        let is_other = refused.as_ref().is_some_and(|refused| *refused != tokens.access);
        if is_other || (refused.is_none() && tokens.is_fresh(now)) {
            return Ok(Some(tokens.access));
        }
        // Still good, if it was not refused.
        let old = Some(tokens.access.clone()).filter(|_| refused.is_none() && tokens.is_valid(now));
        let ask = match (credentials.grant, &tokens.refresh) {
            (Grant::ClientCredentials, _) => Ask::ClientCredentials,
            (Grant::AuthorizationCode, Some(refresh)) => Ask::Refresh(refresh),
            (Grant::AuthorizationCode, None) => return Ok(old),
        };
        match token::tokens(&self.oauth.0.guard, &credentials, ask, now).await {
            Ok(tokens) => {
                let access = tokens.access.clone();
                let credentials = Credentials { tokens: Some(tokens), ..credentials };
                self.oauth.0.store.save(self.owner, credentials).await?;
                Ok(Some(access))
            }
            Err(error) if error.is_invalid_grant() => {
                self.oauth.0.store.save(self.owner, Credentials { tokens: None, ..credentials }).await?;
                Ok(None)
            }
            Err(error) if error.is_invalid_client() => {
                self.oauth.0.store.delete(self.owner).await?;
                Ok(None)
            }
            Err(error) => old.map(Some).ok_or_else(|| Error::Renewal(error.to_string())),
        }
    }
}

impl OAuth {
    /// Ends the owner's sign-in: asks the authorization servers to end their tokens, and forgets everything. Whether
    /// all of them confirmed it; some have no way to.
    pub async fn sign_out(&self, owner: Owner) -> Result<bool, SignInError> {
        let _change = self.change(owner).await?;
        let mut confirmed = true;
        for credentials in &self.0.store.load(owner).await? {
            confirmed &= self.revoke(credentials).await.unwrap_or(false);
        }
        self.0.store.delete(owner).await?;
        Ok(confirmed)
    }

    /// Asks the authorization server to end tokens that are kept no more. Whether it confirmed that; some have no way
    /// to.
    pub async fn revoke(&self, credentials: &Credentials) -> Result<bool, SignInError> {
        if !credentials.is_signed_in() {
            return Ok(true);
        }
        token::revoke(&self.0.guard, credentials, self.0.clock.now()).await
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        Self::Renewal(error.to_string())
    }
}

async fn execute(
    http: &reqwest::Client,
    mut request: reqwest::Request,
    token: Option<&Secret>,
) -> Result<reqwest::Response, Error> {
    if let Some(token) = token {
        let header = bearer(token)?;
        request.headers_mut().insert(AUTHORIZATION, header);
    }
    http.execute(request).await.map_err(|error| Error::from_http(&error))
}

/// The header with a token.
pub(crate) fn bearer(token: &Secret) -> Result<http::HeaderValue, Error> {
    let mut header = http::HeaderValue::try_from(format!("Bearer {}", token.expose()))
        .map_err(|_| Error::Header("its token is not valid in a header".to_owned()))?;
    header.set_sensitive(true);
    Ok(header)
}

/// A WebSocket's address has the origin of the page that it stands for.
pub(super) fn as_http(mut url: Url) -> Url {
    let scheme = match url.scheme() {
        "ws" => "http",
        "wss" => "https",
        _ => return url,
    };
    url.set_scheme(scheme).ok();
    url
}
