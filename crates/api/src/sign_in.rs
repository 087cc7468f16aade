//! `/api/connections/{id}/sign-in`: OAuth sign-in to the MCP server of a connection.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, header};
use axum::response::{AppendHeaders, NoContent, Redirect};
use connections::ConnectionService;
use connections::sign_in::{SIGN_IN_LIFETIME_SECONDS, ServerSignInError};
use http_server::error::ApiError;
use http_server::extract::{JsonBody, Named, Query};
use mcp::oauth::{SignInCallback, SignInError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use storage::Storage;
use storage::servers::Server;

use super::browser_cookie::BrowserCookie;
use super::connections::find_own_server;
use crate::signed_in::SignedIn;
use crate::state::SiteUrl;

/// Cookie that binds a sign-in to the browser that began it.
const SIGN_IN_COOKIE: BrowserCookie = BrowserCookie { name: "server-sign-in", path: "/api/connections" };
/// Maximum length of a client id or secret, in characters.
const MAX_CREDENTIAL_CHARS: usize = 4096;

/// An OAuth client that the user registered with the authorization server of a connection's server.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OAuthClient {
    #[schemars(length(min = 1, max = MAX_CREDENTIAL_CHARS))]
    client_id: String,
    /// Left out for a public client.
    #[serde(default)]
    #[schemars(length(max = MAX_CREDENTIAL_CHARS))]
    client_secret: Option<String>,
}

/// Page of the authorization server, to which the browser is to be sent.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SignInPage {
    #[schemars(url)]
    url: String,
}

/// Begins a sign-in and returns the URL of the authorization server.
pub async fn start_sign_in(
    State(storage): State<Storage>,
    State(connections): State<ConnectionService>,
    State(site_url): State<SiteUrl>,
    caller: SignedIn,
    Named(id): Named,
    headers: HeaderMap,
) -> Result<(AppendHeaders<[(HeaderName, String); 1]>, Json<SignInPage>), ApiError> {
    let server = find_own_server(&storage, &caller, &id).await?;
    // The present cookie is reused, so that sign-ins to several servers can run in one browser at the same time.
    let started = connections.start_sign_in(caller.user, &server, SIGN_IN_COOKIE.read(&headers)).await;
    let started = started.map_err(|error| match error {
        ServerSignInError::SignIn(SignInError::NeedsClient) => client_needed(&connections, &server),
        other => to_api_error(other),
    })?;
    let cookie =
        [(header::SET_COOKIE, SIGN_IN_COOKIE.set(&site_url, &started.browser_secret, SIGN_IN_LIFETIME_SECONDS))];
    Ok((AppendHeaders(cookie), Json(SignInPage { url: started.url.into() })))
}

/// Completes a sign-in when the authorization server redirects the browser back, and redirects to the web app, which
/// shows the result.
pub async fn complete_sign_in(
    State(connections): State<ConnectionService>,
    headers: HeaderMap,
    Query(answer): Query<SignInCallback>,
) -> Redirect {
    // A missing cookie equals no secret, so it fails like a wrong one.
    let browser = SIGN_IN_COOKIE.read(&headers).unwrap_or_default();
    let outcome = match connections.complete_sign_in(browser, answer).await {
        Ok(()) => "connected",
        Err(ServerSignInError::SignIn(SignInError::Denied(_))) => "denied",
        Err(ServerSignInError::NotStartedHere | ServerSignInError::SignIn(SignInError::Expired)) => "expired",
        Err(error) => {
            tracing::warn!(%error, "could not sign a user in to a server");
            "failed"
        }
    };
    // The cookie stays, since other sign-ins in this browser may be in progress.
    Redirect::to(&format!("/?tab=servers&sign-in={outcome}"))
}

/// Stores an OAuth client that the user registered manually. It is never returned by the API.
pub async fn set_client(
    State(storage): State<Storage>,
    State(connections): State<ConnectionService>,
    caller: SignedIn,
    Named(id): Named,
    JsonBody(client): JsonBody<OAuthClient>,
) -> Result<NoContent, ApiError> {
    let server = find_own_server(&storage, &caller, &id).await?;
    let client_id = client.client_id.trim();
    // An empty field of the form means a public client.
    let secret = client.client_secret.filter(|secret| !secret.is_empty());
    if client_id.is_empty() {
        return Err(ApiError::BadRequest("clientId is blank".into()));
    }
    if client_id.len().max(secret.as_ref().map_or(0, String::len)) > MAX_CREDENTIAL_CHARS {
        return Err(ApiError::BadRequest(format!(
            "clientId or clientSecret is longer than {MAX_CREDENTIAL_CHARS} characters"
        )));
    }
    connections.set_client(caller.user, &server, client_id.to_owned(), secret).await.map_err(to_api_error)?;
    Ok(NoContent)
}

/// Revokes the tokens of a connection and deletes them.
pub async fn sign_out(
    State(storage): State<Storage>,
    State(connections): State<ConnectionService>,
    caller: SignedIn,
    Named(id): Named,
) -> Result<NoContent, ApiError> {
    let server = find_own_server(&storage, &caller, &id).await?;
    connections.sign_out_of_server(caller.user, &server).await.map_err(to_api_error)?;
    Ok(NoContent)
}

/// Returns the OAuth client metadata of this server, which authorization servers fetch. Responds 404 if the site is
/// not publicly reachable over HTTPS.
pub async fn get_client_metadata(State(connections): State<ConnectionService>) -> Result<Json<Value>, ApiError> {
    connections.client_metadata().map(Json).ok_or(ApiError::NotFound("document"))
}

/// Returns the error that asks the user to register an OAuth client, with the redirect URL to enter.
fn client_needed(connections: &ConnectionService, server: &Server) -> ApiError {
    let message = format!(
        "Register this app with {}'s authorization server using the redirect URI {}, then enter the client ID and secret.",
        server.name,
        connections.redirect_uri()
    );
    ApiError::Conflict { code: "client_needed", message }
}

/// Converts to the error response.
fn to_api_error(error: ServerSignInError) -> ApiError {
    let message = format!("Signing in is not possible: {error}.");
    match error {
        ServerSignInError::Internal(source) => source.into(),
        ServerSignInError::SignIn(SignInError::Store(error)) => ApiError::Internal(error.into()),
        ServerSignInError::SignIn(SignInError::Server(_) | SignInError::Refused { .. }) => {
            ApiError::Upstream { code: "sign_in_failed", message }
        }
        ServerSignInError::SignIn(_) | ServerSignInError::NotStartedHere => {
            ApiError::Unprocessable { code: "sign_in_not_possible", message }
        }
    }
}
