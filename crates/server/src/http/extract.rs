//! Who is asking.

use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::header;
use axum::http::request::Parts;
use domain::{AuthSessionId, UserId};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::de::DeserializeOwned;

use crate::app::App;
use crate::auth::AuthError;
use crate::http::error::ApiError;

/// A signed-in person: the access token is ours, has not expired, and its session still exists.
#[derive(Debug, Clone)]
pub struct SignedIn {
    /// The person.
    pub user: UserId,
    /// The sign-in.
    pub session: AuthSessionId,
}

impl FromRequestParts<App> for SignedIn {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let token = bearer(parts).ok_or(ApiError::Unauthorized)?;
        let claims = app.auth.verify(app, token).await.map_err(unverified)?;
        Ok(Self { user: claims.user, session: claims.session })
    }
}

fn unverified(error: AuthError) -> ApiError {
    match error {
        AuthError::Internal(error) => ApiError::Internal(error),
        _ => ApiError::Unauthorized,
    }
}

/// The token of `Authorization: Bearer …`.
pub fn bearer(parts: &Parts) -> Option<&str> {
    let value = parts.headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim()).filter(|token| !token.is_empty())
}

/// A JSON body; what is wrong with it is said in the house's own shape.
#[derive(Debug)]
pub struct JsonBody<T>(pub T);

impl<T: DeserializeOwned> FromRequest<App> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _app: &App) -> Result<Self, ApiError> {
        let bytes = match Limited::new(request.into_body(), super::BODY_LIMIT).collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) if error.is::<LengthLimitError>() => return Err(ApiError::TooLarge),
            Err(_) => return Err(ApiError::BadRequest("the body broke off".into())),
        };
        serde_json::from_slice(&bytes)
            .map(Self)
            .map_err(|error| ApiError::BadRequest(format!("the body is not what this call takes: {error}")))
    }
}
