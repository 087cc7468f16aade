//! The signed-in user of a request.

use accounts::gotrue_error::INSUFFICIENT_AAL;
use accounts::{AccountService, AuthError};
use axum::extract::{FromRef, FromRequestParts};
use axum::http::request::Parts;
use domain::{AuthSessionId, UserId};
use http_server::error::ApiError;
use http_server::extract::bearer;
use http_server::openapi::{Operation, OperationInput, OperationOutput};

/// A signed-in user, extracted from the access token. The token is valid, its session exists, and the second factor
/// is verified if the user has one.
#[derive(Debug, Clone)]
pub struct SignedIn {
    /// The user.
    pub user: UserId,
    /// The session (sign-in) that the token belongs to.
    pub session: AuthSessionId,
}

impl<S> FromRequestParts<S> for SignedIn
where
    AccountService: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let token = bearer(parts).ok_or(ApiError::Unauthorized)?;
        let accounts = AccountService::from_ref(state);
        let claims = accounts.verify(token).await.map_err(token_error)?;
        Ok(Self { user: claims.user, session: claims.session })
    }
}

/// The route's [`Access`](http_server::route::Access) describes the token.
impl OperationInput for SignedIn {
    fn describe(operation: &mut Operation<'_>) {
        ApiError::describe(operation);
    }
}

/// Maps a failed token check to a response. The cause is not disclosed, except for a missing second factor, which the
/// web app asks for.
fn token_error(error: AuthError) -> ApiError {
    match error {
        AuthError::Internal(error) => error.into(),
        AuthError::GoTrue(refusal) if refusal == INSUFFICIENT_AAL => ApiError::NeedsFactor,
        _ => ApiError::Unauthorized,
    }
}
