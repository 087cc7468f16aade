//! Extractors of the auth API.

use std::convert::Infallible;
use std::marker::PhantomData;

use accounts::emails::LinkTarget;
use accounts::gotrue_error::{BODY_INCOMPLETE, BODY_TOO_LARGE, GoTrueError, NO_AUTHORIZATION};
use accounts::{AccountService, AuthError, Claims, pkce};
use axum::body::Body;
use axum::extract::{FromRef, FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use http_server::body::{self, BodyError};
use http_server::extract::bearer;
use http_server::openapi::{Operation, OperationInput, OperationOutput};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use url::form_urlencoded;

use super::BODY_LIMIT;
use super::error::AuthApiError;

/// The claims of the caller's access token. The second factor may still be missing.
pub struct Caller(pub Claims);

impl<S> FromRequestParts<S> for Caller
where
    AccountService: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = AuthApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, AuthApiError> {
        let token = bearer(parts).ok_or(NO_AUTHORIZATION)?;
        Ok(Self(AccountService::from_ref(state).verify_first_factor(token).await?))
    }
}

/// The route's [`Access`](http_server::route::Access) describes the token.
impl OperationInput for Caller {
    fn describe(operation: &mut Operation<'_>) {
        AuthApiError::describe(operation);
    }
}

/// A JSON body of any content type, which GoTrue does not check. As there, `null` counts as an empty object.
pub struct AuthJsonBody<T>(pub T);

impl<T: DeserializeOwned, S: Sync> FromRequest<S> for AuthJsonBody<T> {
    type Rejection = AuthApiError;

    async fn from_request(request: Request, _state: &S) -> Result<Self, AuthApiError> {
        UnreadAuthJsonBody::new(request).read().await.map(Self)
    }
}

impl<T: JsonSchema> OperationInput for AuthJsonBody<T> {
    fn describe(operation: &mut Operation<'_>) {
        operation.set_json_body::<T>();
        AuthApiError::describe(operation);
    }
}

/// An [`AuthJsonBody`] that the handler reads itself, after checks that come first. Requests with a bad body count
/// towards the rate limit, too.
pub struct UnreadAuthJsonBody<T> {
    body: Body,
    content: PhantomData<fn() -> T>,
}

impl<T> UnreadAuthJsonBody<T> {
    fn new(request: Request) -> Self {
        Self { body: request.into_body(), content: PhantomData }
    }

    /// Reads the body.
    pub async fn read(self) -> Result<T, AuthApiError>
    where
        T: DeserializeOwned,
    {
        self.read_as().await
    }

    /// Reads the body as one of the types that `T` describes.
    pub async fn read_as<U: DeserializeOwned>(self) -> Result<U, AuthApiError> {
        let read: Option<U> = body::read(self.body, BODY_LIMIT).await.map_err(refuse_body)?;
        let or_empty = read.map_or_else(|| serde_json::from_str("{}"), Ok);
        Ok(or_empty.map_err(|error| AuthError::BadJson(error.to_string()))?)
    }
}

impl<T, S: Sync> FromRequest<S> for UnreadAuthJsonBody<T> {
    type Rejection = Infallible;

    async fn from_request(request: Request, _state: &S) -> Result<Self, Infallible> {
        Ok(Self::new(request))
    }
}

impl<T: JsonSchema> OperationInput for UnreadAuthJsonBody<T> {
    fn describe(operation: &mut Operation<'_>) {
        operation.set_json_body::<T>();
    }
}

/// A JSON body that may be left out; see [`AuthJsonBody`].
pub struct OptionalAuthJsonBody<T>(pub Option<T>);

impl<T: DeserializeOwned, S: Sync> FromRequest<S> for OptionalAuthJsonBody<T> {
    type Rejection = AuthApiError;

    async fn from_request(request: Request, _state: &S) -> Result<Self, AuthApiError> {
        let read: Option<Option<T>> =
            body::read_optional(request.into_body(), BODY_LIMIT).await.map_err(refuse_body)?;
        Ok(Self(read.flatten()))
    }
}

impl<T: JsonSchema> OperationInput for OptionalAuthJsonBody<T> {
    fn describe(operation: &mut Operation<'_>) {
        operation.set_optional_json_body::<T>();
        AuthApiError::describe(operation);
    }
}

fn refuse_body(error: BodyError) -> AuthError {
    match error {
        BodyError::TooLarge => BODY_TOO_LARGE.into(),
        BodyError::BrokeOff => BODY_INCOMPLETE.into(),
        BodyError::NotJson(error) => AuthError::BadJson(error),
    }
}

/// The parsed query string. As in GoTrue, the first of several values counts, and unknown parameters are ignored.
pub struct AuthQuery<T>(pub T);

impl<T: DeserializeOwned, S: Sync> FromRequestParts<S> for AuthQuery<T> {
    type Rejection = AuthApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, AuthApiError> {
        let query = parts.uri.query().unwrap_or_default();
        let mut values = Map::new();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            values.entry(name).or_insert_with(|| value.into_owned().into());
        }
        let invalid = |error: serde_json::Error| AuthError::GoTrueWithMessage {
            status: 400,
            code: "validation_failed",
            message: format!("The query is invalid: {error}"),
        };
        Ok(Self(serde_json::from_value(Value::Object(values)).map_err(invalid)?))
    }
}

impl<T: JsonSchema> OperationInput for AuthQuery<T> {
    fn describe(operation: &mut Operation<'_>) {
        operation.add_query::<T>();
        AuthApiError::describe(operation);
    }
}

/// Query of a request for an emailed link.
#[derive(Deserialize, JsonSchema)]
pub struct EmailLinkQuery {
    /// Target of the link. The site itself, unless the target is allowed.
    pub redirect_to: Option<String>,
}

/// Returns the redirect target and PKCE challenge of the link in a requested email.
pub fn link_target(
    accounts: &AccountService,
    query: &EmailLinkQuery,
    challenge: Option<String>,
    challenge_method: Option<String>,
) -> Result<LinkTarget, GoTrueError> {
    let challenge = pkce::parse_challenge(challenge, challenge_method)?;
    Ok(LinkTarget { redirect: accounts.redirect_target(query.redirect_to.as_deref()), challenge })
}
