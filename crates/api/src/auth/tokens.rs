//! `/token` and `/logout`: beginning, renewing and ending sessions.

use std::net::IpAddr;

use accounts::gotrue_error::{GoTrueError, PHONE_LOGIN_DISABLED, UNSUPPORTED_GRANT_TYPE};
use accounts::rate_limits::RateLimit;
use accounts::sessions::SignOutScope;
use accounts::{AccountService, AuthError};
use axum::Json;
use axum::extract::{FromRequest, Request, State};
use axum::http::{StatusCode, Uri};
use serde::Deserialize;

use super::dto::SessionBody;
use super::error::AuthApiError;
use super::extract::{Address, AuthJsonBody, Caller, UserAgent, query_value};
use super::unsupported;

const NO_WEB3: GoTrueError = GoTrueError::unsupported(422, "web3_provider_disabled", "Web3 provider is disabled");

const NO_CODE: GoTrueError =
    GoTrueError::validation_failed("invalid request: both auth code and code verifier should be non-empty");

#[derive(Deserialize)]
struct PasswordGrant {
    email: Option<String>,
    phone: Option<String>,
    password: Option<String>,
}

#[derive(Deserialize)]
struct RefreshGrant {
    refresh_token: Option<String>,
}

#[derive(Deserialize)]
struct PkceGrant {
    auth_code: Option<String>,
    code_verifier: Option<String>,
}

/// Issues tokens for a password, a refresh token or an auth code (`POST /token?grant_type=…`).
pub async fn issue_token(
    State(accounts): State<AccountService>,
    Address(address): Address,
    UserAgent(user_agent): UserAgent,
    uri: Uri,
    request: Request,
) -> Result<Json<SessionBody>, AuthApiError> {
    let grant = query_value(uri.query(), "grant_type").unwrap_or_default();
    if !["password", "refresh_token", "pkce", "id_token", "web3"].contains(&grant.as_str()) {
        return Err(UNSUPPORTED_GRANT_TYPE.into());
    }
    accounts.rate_limits().check(RateLimit::Token, address)?;
    let sign_in = match grant.as_str() {
        "password" => {
            let AuthJsonBody(body) = AuthJsonBody::from_request(request, &()).await?;
            return Ok(Json(sign_in_by_password(&accounts, body, address, user_agent).await?));
        }
        "refresh_token" => {
            let AuthJsonBody(body) = AuthJsonBody::<RefreshGrant>::from_request(request, &()).await?;
            let token = body.refresh_token.filter(|token| !token.is_empty());
            accounts
                .refresh_session(&token.ok_or(GoTrueError::validation_failed("Refresh token is not valid"))?)
                .await?
        }
        "pkce" => {
            let AuthJsonBody(body) = AuthJsonBody::<PkceGrant>::from_request(request, &()).await?;
            let code = body.auth_code.filter(|code| !code.is_empty()).ok_or(NO_CODE)?;
            let verifier = body.code_verifier.filter(|verifier| !verifier.is_empty()).ok_or(NO_CODE)?;
            accounts.exchange_auth_code(&code, &verifier, user_agent).await?
        }
        "id_token" => {
            let AuthJsonBody(body) = AuthJsonBody::from_request(request, &()).await?;
            return Err(unsupported::reject_id_token(body).into());
        }
        _ => return Err(NO_WEB3.into()),
    };
    Ok(Json(sign_in.into()))
}

async fn sign_in_by_password(
    accounts: &AccountService,
    body: PasswordGrant,
    from: IpAddr,
    user_agent: Option<String>,
) -> Result<SessionBody, AuthError> {
    let email = body.email.unwrap_or_default();
    let phone = body.phone.unwrap_or_default();
    match (email.is_empty(), phone.is_empty()) {
        (false, false) => {
            Err(GoTrueError::validation_failed("Only an email address or phone number should be provided on login.")
                .into())
        }
        (true, false) => Err(PHONE_LOGIN_DISABLED.into()),
        (true, true) => Err(GoTrueError::validation_failed("missing email or phone").into()),
        (false, true) => {
            let password = body.password.unwrap_or_default();
            // As in GoTrue, an old password that breaks newer rules still signs in; `weak_password` tells the client
            // why it should be changed.
            let weakness = accounts.password_rules().weakness(&password, &[&email]);
            let sign_in = accounts.sign_in(&email, password, from, user_agent).await?;
            Ok(SessionBody::from(sign_in).with_weakness(weakness))
        }
    }
}

/// Ends sessions (`POST /logout?scope=…`).
pub async fn sign_out(
    State(accounts): State<AccountService>,
    Caller(claims): Caller,
    uri: Uri,
) -> Result<StatusCode, AuthApiError> {
    let scope = SignOutScope::from_word(query_value(uri.query(), "scope").as_deref())?;
    accounts.sign_out(claims, scope).await?;
    // Without a body: auth-js expects 204.
    Ok(StatusCode::NO_CONTENT)
}
