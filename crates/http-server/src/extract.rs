//! Extractors that all routes share: the token, the network address, the body, the path and the query.

use std::convert::Infallible;
use std::marker::PhantomData;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{ConnectInfo, FromRef, FromRequest, FromRequestParts, Path, Request};
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap, HeaderName, header};
use platform::client_address::{TrustedProxy, client_address};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::body;
use crate::error::ApiError;
use crate::openapi::{Operation, OperationInput, OperationOutput};

/// Returns the token of an `Authorization: Bearer …` header.
pub fn bearer(parts: &Parts) -> Option<&str> {
    let value = parts.headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    // Names of schemes are case-insensitive (RFC 9110, section 11.1).
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim()).filter(|token| !token.is_empty())
}

/// Proxies whose `X-Forwarded-For` is believed.
#[derive(Debug, Clone)]
pub struct TrustedProxies(pub Arc<[TrustedProxy]>);

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// Returns the client's network address; see [`client_address`] for the rules about proxies.
pub fn address_of_request(extensions: &Extensions, headers: &HeaderMap, trusted: &[TrustedProxy]) -> IpAddr {
    let peer = extensions.get::<ConnectInfo<SocketAddr>>();
    // The server always sets `ConnectInfo`; only handlers called directly in tests lack it.
    let peer = peer.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.0.ip());
    // A header that is not text becomes an invalid address, and `client_address` must see that it exists.
    let forwarded = headers.get_all(FORWARDED_FOR).iter().map(|value| value.to_str().unwrap_or_default());
    client_address(peer, forwarded, trusted)
}

/// The client's network address; see [`address_of_request`].
pub struct Address(pub IpAddr);

impl<S> FromRequestParts<S> for Address
where
    TrustedProxies: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Infallible> {
        let TrustedProxies(proxies) = TrustedProxies::from_ref(state);
        Ok(Self(address_of_request(&parts.extensions, &parts.headers, &proxies)))
    }
}

impl OperationInput for Address {
    fn describe(_operation: &mut Operation<'_>) {}
}

/// The client's `User-Agent`, cut to [`USER_AGENT_LIMIT`].
pub struct UserAgent(pub Option<String>);

/// Maximum length of a stored user agent, in bytes.
const USER_AGENT_LIMIT: usize = 512;

impl<S: Sync> FromRequestParts<S> for UserAgent {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        let text = parts.headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok());
        Ok(Self(text.map(|text| domain::text::cut_to(text, USER_AGENT_LIMIT).to_owned())))
    }
}

impl OperationInput for UserAgent {
    fn describe(_operation: &mut Operation<'_>) {}
}

/// A JSON body of at most 2 MiB. A bad body is rejected with an [`ApiError`].
#[derive(Debug)]
pub struct JsonBody<T>(pub T);

impl<T: DeserializeOwned, S: Sync> FromRequest<S> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _state: &S) -> Result<Self, ApiError> {
        UnreadJsonBody::new(request).read().await.map(Self)
    }
}

impl<T: JsonSchema> OperationInput for JsonBody<T> {
    fn describe(operation: &mut Operation<'_>) {
        operation.set_json_body::<T>();
        ApiError::describe(operation);
    }
}

/// A [`JsonBody`] that the handler reads itself, after checks that come first.
#[derive(Debug)]
pub struct UnreadJsonBody<T> {
    body: Body,
    content: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> UnreadJsonBody<T> {
    fn new(request: Request) -> Self {
        Self { body: request.into_body(), content: PhantomData }
    }

    /// Reads the body. A bad one is rejected as by [`JsonBody`].
    pub async fn read(self) -> Result<T, ApiError> {
        let read = body::read(self.body, body::BODY_LIMIT).await;
        read.map_err(|error| error.into_api_error(|| ApiError::TooLarge))
    }
}

impl<T: DeserializeOwned, S: Sync> FromRequest<S> for UnreadJsonBody<T> {
    type Rejection = Infallible;

    async fn from_request(request: Request, _state: &S) -> Result<Self, Infallible> {
        Ok(Self::new(request))
    }
}

impl<T: JsonSchema> OperationInput for UnreadJsonBody<T> {
    fn describe(operation: &mut Operation<'_>) {
        operation.set_json_body::<T>();
    }
}

/// The only path parameter. A value that is not UTF-8 responds 404.
#[derive(Debug)]
pub struct Named(pub String);

impl<S: Send + Sync> FromRequestParts<S> for Named {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        match Path::from_request_parts(parts, state).await {
            Ok(Path(name)) => Ok(Self(name)),
            Err(_) => Err(ApiError::NotFound("route")),
        }
    }
}

/// The path of the route describes the parameter.
impl OperationInput for Named {
    fn describe(operation: &mut Operation<'_>) {
        ApiError::describe(operation);
    }
}

/// The two path parameters, in their order in the path.
#[derive(Debug)]
pub struct NamedTwo(pub String, pub String);

impl<S: Send + Sync> FromRequestParts<S> for NamedTwo {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        match Path::from_request_parts(parts, state).await {
            Ok(Path((first, second))) => Ok(Self(first, second)),
            Err(_) => Err(ApiError::NotFound("route")),
        }
    }
}

/// The path of the route describes the parameters.
impl OperationInput for NamedTwo {
    fn describe(operation: &mut Operation<'_>) {
        ApiError::describe(operation);
    }
}

/// The parsed query string. A bad query is rejected with an [`ApiError`].
#[derive(Debug)]
pub struct Query<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        match axum::extract::Query::from_request_parts(parts, state).await {
            Ok(axum::extract::Query(query)) => Ok(Self(query)),
            Err(refused) => Err(ApiError::BadRequest(format!("the query is invalid: {refused}"))),
        }
    }
}

impl<T: JsonSchema> OperationInput for Query<T> {
    fn describe(operation: &mut Operation<'_>) {
        operation.add_query::<T>();
        ApiError::describe(operation);
    }
}

/// The header `Last-Event-ID`, with which a client resumes an event stream.
#[derive(Debug)]
pub struct LastEventId(pub Option<String>);

impl<S: Sync> FromRequestParts<S> for LastEventId {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        let value = parts.headers.get("last-event-id").and_then(|value| value.to_str().ok());
        Ok(Self(value.map(str::to_owned)))
    }
}

impl OperationInput for LastEventId {
    fn describe(operation: &mut Operation<'_>) {
        operation.add_request_header("Last-Event-ID", json!({ "type": "string", "pattern": "^[0-9]{1,18}$" }));
    }
}
