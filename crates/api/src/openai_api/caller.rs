//! The caller of the API: an API client with an API key, or the web app with an access token.

use accounts::api_keys::KEY_PREFIX;
use accounts::{AccountService, AuthError};
use axum::extract::{FromRef, FromRequestParts};
use axum::http::request::Parts;
use domain::api_key::Scope;
use domain::{ApiKeyId, UserId};
use http_server::error::ApiError;
use http_server::extract::bearer;
use http_server::openapi::{Operation, OperationInput, OperationOutput};
use uuid::Uuid;

use super::refusal::OpenAiError;
use crate::signed_in::SignedIn;

/// An authenticated caller.
#[derive(Debug)]
pub struct Caller {
    /// The user on whose behalf the call is made.
    pub user: UserId,
    /// Id by which requests are counted: that of the key, or of the user.
    pub key: Uuid,
    /// The API key; `None` for an access token.
    pub own_key: Option<ApiKeyId>,
    scopes: Vec<Scope>,
}

impl Caller {
    /// Returns whether the caller's key includes `scope`.
    pub fn may(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope)
    }
}

impl<S> FromRequestParts<S> for Caller
where
    AccountService: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = OpenAiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, OpenAiError> {
        // The prefix tells API keys from access tokens, so only one of them is looked up.
        if let Some(secret) = bearer(parts).filter(|secret| secret.starts_with(KEY_PREFIX)) {
            let known = AccountService::from_ref(state).find_api_key(secret).await.map_err(|error| match error {
                AuthError::Internal(error) => ApiError::from(error),
                _ => ApiError::Unauthorized,
            })?;
            let known = known.ok_or(ApiError::Unauthorized)?;
            return Ok(Self {
                user: known.user,
                key: known.key.id.0,
                own_key: Some(known.key.id),
                scopes: known.key.scopes,
            });
        }
        let SignedIn { user, .. } = SignedIn::from_request_parts(parts, state).await?;
        // The web app has all rights of its user.
        Ok(Self { user, key: user.0, own_key: None, scopes: vec![Scope::Chat, Scope::Tools] })
    }
}

/// The route's [`Access`](http_server::route::Access) describes the token.
impl OperationInput for Caller {
    fn describe(operation: &mut Operation<'_>) {
        OpenAiError::describe(operation);
    }
}
