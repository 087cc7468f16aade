//! `/authorize` and `/callback`: sign-in at the organisation's identity provider.

use std::convert::Infallible;

use accounts::gotrue_error::GoTrueError;
use accounts::oidc::{
    LogoutOutcome, PROVIDER, ProviderCallback, SIGN_IN_LIFETIME_SECONDS, SignInOutcome, SignInTarget,
};
use accounts::pkce::{MAX_CHALLENGE_CHARS, parse_challenge};
use accounts::rate_limits::RateLimit;
use accounts::{AccountService, AuthError, RequestOrigin};
use axum::Json;
use axum::extract::{FromRequest, Request, State};
use axum::http::{HeaderMap, HeaderName, Method, StatusCode, header};
use axum::response::{AppendHeaders, IntoResponse, Redirect, Response};
use http_server::extract::{Address, UserAgent};
use http_server::openapi::{Operation, OperationInput, OperationOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use url::Url;

use super::error::AuthApiError;
use super::extract::{AuthQuery, Caller};
use super::redirects::{with_error, with_message, with_query, with_session};
use super::unsupported::reject_provider;
use crate::browser_cookie::BrowserCookie;
use crate::state::SiteUrl;

/// Cookie that binds a sign-in to the browser that began it.
pub(super) const SIGN_IN_COOKIE: BrowserCookie = BrowserCookie { name: "provider-sign-in", path: "/auth/v1" };
/// Maximum length of the further scopes, in characters.
const MAX_SCOPES_CHARS: usize = 1000;

/// Maximum size of a report of the provider, in bytes.
const MAX_REPORT_BYTES: usize = 64 * 1024;

/// Query of [`authorize`].
#[derive(Deserialize, JsonSchema)]
pub struct AuthorizeQuery {
    /// Name of the provider; `oidc` for the configured one.
    #[schemars(required)]
    pub(super) provider: Option<String>,
    /// Target of the sign-in. The site itself, unless the target is allowed.
    redirect_to: Option<String>,
    /// Scopes to request besides the configured ones, separated by spaces.
    #[schemars(length(max = MAX_SCOPES_CHARS))]
    scopes: Option<String>,
    /// Registration token, where sign-up is by invitation and the user has no account yet.
    registration_token: Option<String>,
    /// PKCE challenge of the client (RFC 7636).
    #[schemars(length(max = MAX_CHALLENGE_CHARS))]
    code_challenge: Option<String>,
    /// Method of the challenge: `s256` or `plain`.
    code_challenge_method: Option<String>,
}

/// Query of [`complete_sign_in`].
#[derive(Deserialize, JsonSchema)]
pub struct CallbackQuery {
    /// State of the authorization request.
    state: Option<String>,
    /// Code of the provider.
    code: Option<String>,
    /// Issuer identifier of the provider (RFC 9207).
    iss: Option<String>,
    /// Error code of the provider.
    error: Option<String>,
    /// Description of the error.
    error_description: Option<String>,
}

/// A redirect with the status 302, which GoTrue's clients expect.
pub struct FoundRedirect(pub(super) Url);

impl IntoResponse for FoundRedirect {
    fn into_response(self) -> Response {
        (StatusCode::FOUND, [(header::LOCATION, self.0.as_str())]).into_response()
    }
}

impl OperationOutput for FoundRedirect {
    fn describe(operation: &mut Operation<'_>) {
        operation.add_response_header(StatusCode::FOUND, "Location");
    }
}

/// Begins a sign-in (`GET /authorize`).
pub async fn authorize(
    State(accounts): State<AccountService>,
    State(site_url): State<SiteUrl>,
    Address(from): Address,
    headers: HeaderMap,
    AuthQuery(query): AuthQuery<AuthorizeQuery>,
) -> Result<(AppendHeaders<[(HeaderName, String); 1]>, FoundRedirect), AuthApiError> {
    let provider = query.provider.clone().unwrap_or_default();
    if provider != PROVIDER || accounts.oidc().is_none() {
        return Err(reject_provider(&provider).into());
    }
    accounts.rate_limits().check(RateLimit::Token, from).await?;
    let target = sign_in_target(&accounts, query)?;
    let redirect = target.redirect.clone();
    let browser = SIGN_IN_COOKIE.read(&headers);
    let (url, cookie) = match accounts.begin_provider_sign_in(target, browser).await {
        Ok(pending) => (pending.url, SIGN_IN_COOKIE.set(&site_url, &pending.browser_secret, SIGN_IN_LIFETIME_SECONDS)),
        // The browser has left the page, which is where a user can read the error.
        Err(error) => (with_logged_error(redirect, &error), SIGN_IN_COOKIE.set(&site_url, "", 0)),
    };
    Ok((AppendHeaders([(header::SET_COOKIE, cookie)]), FoundRedirect(url)))
}

/// Reads where a sign-in leads.
pub(super) fn sign_in_target(accounts: &AccountService, query: AuthorizeQuery) -> Result<SignInTarget, AuthApiError> {
    let scopes = query.scopes.unwrap_or_default();
    if scopes.len() > MAX_SCOPES_CHARS {
        return Err(GoTrueError::validation_failed("scopes are too long").into());
    }
    let redirect = accounts.redirect_target(query.redirect_to.as_deref().filter(|target| !target.is_empty()));
    let challenge = parse_challenge(query.code_challenge, query.code_challenge_method)?;
    let registration_token = query.registration_token.filter(|token| !token.is_empty());
    Ok(SignInTarget { redirect, challenge, scopes, registration_token })
}

/// Completes a sign-in (`GET /callback`). Errors become part of the redirect, because a browser shows no other.
pub async fn complete_sign_in(
    State(accounts): State<AccountService>,
    Address(from): Address,
    UserAgent(user_agent): UserAgent,
    method: Method,
    headers: HeaderMap,
    AuthQuery(query): AuthQuery<CallbackQuery>,
) -> Result<Redirect, AuthApiError> {
    accounts.rate_limits().check(RateLimit::Token, from).await?;
    // A request for the head alone must not use up the state.
    if method == Method::HEAD {
        return Ok(Redirect::to(accounts.redirect_target(None::<&str>).as_str()));
    }
    let CallbackQuery { state, code, iss, error, error_description } = query;
    let callback = ProviderCallback { state, code, iss, error, error_description };
    // A missing cookie equals no secret, so it fails like a wrong one. The cookie stays: other sign-ins in this browser
    // may be in progress.
    let browser = SIGN_IN_COOKIE.read(&headers).unwrap_or_default();
    let origin = RequestOrigin { address: Some(from), user_agent };
    let (target, outcome) = accounts.complete_provider_sign_in(callback, browser, origin).await;
    let target = match outcome {
        Ok(SignInOutcome::SignedIn(sign_in)) => with_session(target, &sign_in, None),
        Ok(SignInOutcome::AuthCode(code)) => with_query(target, &[("code", &code)]),
        Ok(SignInOutcome::Declined { error, description }) => {
            with_message(target, &[("error", &error), ("error_description", &description)], true)
        }
        Err(error) => with_logged_error(target, &error),
    };
    Ok(Redirect::to(target.as_str()))
}

/// The page for a logout at the provider.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LogoutPage {
    /// Page to open after signing out here; null if there is nothing to sign out of.
    #[schemars(extend("format" = "uri"))]
    url: Option<String>,
}

/// Returns the provider's page that ends the caller's session there (`POST /oidc/logout`, OpenID Connect RP-Initiated Logout
/// 1.0). Not a `GET`: the URL contains a token.
pub async fn get_logout_page(
    State(accounts): State<AccountService>,
    Caller(claims): Caller,
) -> Result<Json<LogoutPage>, AuthApiError> {
    let page = accounts.provider_logout_page(claims).await?;
    Ok(Json(LogoutPage { url: page.map(String::from) }))
}

/// The form with which the provider reports a logout. One that cannot be read has an empty token.
pub struct LogoutReport {
    /// Signed by the provider.
    logout_token: String,
}

impl<S: Sync> FromRequest<S> for LogoutReport {
    type Rejection = Infallible;

    async fn from_request(request: Request, _state: &S) -> Result<Self, Infallible> {
        let body = axum::body::to_bytes(request.into_body(), MAX_REPORT_BYTES).await.unwrap_or_default();
        let token = url::form_urlencoded::parse(&body).find(|(name, _)| name == "logout_token");
        Ok(Self { logout_token: token.map_or_else(String::new, |(_, token)| token.into_owned()) })
    }
}

impl OperationInput for LogoutReport {
    fn describe(operation: &mut Operation<'_>) {
        let schema = json!({
            "type": "object",
            "properties": { "logout_token": { "type": "string", "description": "Logout token, signed by the provider." } },
            "required": ["logout_token"],
        });
        operation.set_body("application/x-www-form-urlencoded", schema);
    }
}

/// The response to the provider's report.
pub enum LogoutResponse {
    Ended,
    /// With the reason.
    Rejected(String),
}

impl IntoResponse for LogoutResponse {
    fn into_response(self) -> Response {
        let no_store = [(header::CACHE_CONTROL, "no-store")];
        match self {
            Self::Ended => (StatusCode::OK, no_store).into_response(),
            Self::Rejected(reason) => {
                let body = json!({ "error": "invalid_request", "error_description": reason });
                (StatusCode::BAD_REQUEST, no_store, Json(body)).into_response()
            }
        }
    }
}

impl OperationOutput for LogoutResponse {
    fn describe(operation: &mut Operation<'_>) {
        operation.add_response(StatusCode::OK, "The sessions are ended, if there were any.");
        let schema = json!({
            "type": "object",
            "properties": { "error": { "const": "invalid_request" }, "error_description": { "type": "string" } },
        });
        operation.add_content(StatusCode::BAD_REQUEST, "The token was rejected.", "application/json", schema);
    }
}

/// Ends the sessions of a user who has signed out at the identity provider (`POST /oidc/backchannel-logout`, OpenID Connect
/// Back-Channel Logout 1.0, section 2.5). The token proves its sender.
pub async fn end_sessions(
    State(accounts): State<AccountService>,
    report: LogoutReport,
) -> Result<LogoutResponse, AuthApiError> {
    Ok(match accounts.end_provider_sessions(&report.logout_token).await? {
        LogoutOutcome::Ended => LogoutResponse::Ended,
        LogoutOutcome::Rejected(error) => LogoutResponse::Rejected(error.to_string()),
        LogoutOutcome::NoProvider => LogoutResponse::Rejected("there is no identity provider".to_owned()),
    })
}

/// Adds an error to the URL, and logs a failure of this server. A failure of the provider has been logged already.
fn with_logged_error(target: Url, error: &AuthError) -> Url {
    if matches!(error, AuthError::Internal(_)) {
        tracing::error!(error = error.detail(), "a sign-in at the identity provider could not be processed");
    }
    with_error(target, error, true)
}
