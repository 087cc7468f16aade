//! Who asks: a program with an API key, or the page with an access token.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use domain::api_key::Scope;
use domain::{ApiKeyId, UserId};
use uuid::Uuid;

use super::refusal::Refusal;
use crate::app::App;
use crate::auth::AuthError;
use crate::auth::api_keys::{self, PREFIX};
use crate::http::error::ApiError;
use crate::http::extract::{SignedIn, bearer};

/// Who asks.
#[derive(Debug)]
pub struct Caller {
    /// In whose name.
    pub user: UserId,
    /// By what the questions are counted.
    pub key: Uuid,
    /// The key, when it is one of the person's.
    pub own_key: Option<ApiKeyId>,
    scopes: Vec<Scope>,
}

impl Caller {
    /// Whether this is open to them.
    pub fn may(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope)
    }
}

impl FromRequestParts<App> for Caller {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Refusal> {
        if let Some(secret) = bearer(parts).filter(|secret| secret.starts_with(PREFIX)) {
            let known = api_keys::bearer(app, secret).await.map_err(|error| match error {
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
        let SignedIn { user, .. } = SignedIn::from_request_parts(parts, app).await?;
        Ok(Self { user, key: user.0, own_key: None, scopes: vec![Scope::Chat, Scope::Tools] })
    }
}
