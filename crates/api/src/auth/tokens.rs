//! `/token` and `/logout`: beginning, renewing and ending sessions.

use std::net::IpAddr;

use accounts::gotrue_error::{EMAIL_LOGINS_DISABLED, GoTrueError, PHONE_LOGIN_DISABLED, UNSUPPORTED_GRANT_TYPE};
use accounts::rate_limits::RateLimit;
use accounts::sessions::SignOutScope;
use accounts::{AccountService, AuthError, RequestOrigin};
use axum::Json;
use axum::extract::State;
use axum::response::NoContent;
use http_server::extract::{Address, UserAgent};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::value::{Error, StrDeserializer};

use super::dto::SessionBody;
use super::error::AuthApiError;
use super::extract::{AuthQuery, Caller, UnreadAuthJsonBody};
use super::unsupported::{IdTokenGrant, reject_id_token};

const NO_WEB3: GoTrueError = GoTrueError::unsupported(422, "web3_provider_disabled", "Web3 provider is disabled");

const NO_CODE: GoTrueError =
    GoTrueError::validation_failed("invalid request: both auth code and code verifier should be non-empty");

/// Query of [`issue_token`].
#[derive(Deserialize, JsonSchema)]
pub struct TokenQuery {
    #[schemars(with = "GrantType")]
    grant_type: Option<String>,
}

/// Kind of proof for which tokens are issued.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum GrantType {
    /// Email address and password.
    Password,
    /// Refresh token of a session.
    RefreshToken,
    /// Code of a link, for clients that use PKCE.
    Pkce,
    /// Not supported: ID token of another provider.
    IdToken,
    /// Not supported: signature of a wallet.
    Web3,
}

impl GrantType {
    fn from_word(word: &str) -> Result<Self, GoTrueError> {
        Self::deserialize(StrDeserializer::<Error>::new(word)).map_err(|_| UNSUPPORTED_GRANT_TYPE)
    }
}

/// Proof for which tokens are issued. Its fields depend on the grant type. As in GoTrue, `null` counts as a field that
/// is left out.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub enum TokenRequest {
    /// Body for the grant type `password`.
    Password(PasswordGrant),
    /// Body for the grant type `refresh_token`.
    RefreshToken(RefreshGrant),
    /// Body for the grant type `pkce`.
    Pkce(PkceGrant),
    /// Body for the grant type `id_token`.
    IdToken(IdTokenGrant),
}

impl TokenRequest {
    /// Reads a body as the type that belongs to the grant type.
    async fn read(grant_type: GrantType, body: UnreadAuthJsonBody<Self>) -> Result<Self, AuthApiError> {
        Ok(match grant_type {
            GrantType::Password => Self::Password(body.read_as().await?),
            GrantType::RefreshToken => Self::RefreshToken(body.read_as().await?),
            GrantType::Pkce => Self::Pkce(body.read_as().await?),
            GrantType::IdToken => Self::IdToken(body.read_as().await?),
            GrantType::Web3 => return Err(NO_WEB3.into()),
        })
    }
}

/// Sign-in by password.
#[derive(Deserialize, JsonSchema)]
pub struct PasswordGrant {
    email: Option<String>,
    /// Not supported: phone numbers are rejected.
    phone: Option<String>,
    #[schemars(required)]
    password: Option<String>,
}

/// Renewal of a session. The refresh token is replaced by a new one.
#[derive(Deserialize, JsonSchema)]
pub struct RefreshGrant {
    #[schemars(required)]
    refresh_token: Option<String>,
}

/// Sign-in by the code of a link.
#[derive(Deserialize, JsonSchema)]
pub struct PkceGrant {
    /// Code that the client received when the user followed the link.
    #[schemars(required)]
    auth_code: Option<String>,
    /// Secret that the client chose when it requested the email (RFC 7636).
    #[schemars(required)]
    code_verifier: Option<String>,
}

/// Issues tokens for a password, a refresh token or an auth code (`POST /token?grant_type=…`).
pub async fn issue_token(
    State(accounts): State<AccountService>,
    Address(address): Address,
    UserAgent(user_agent): UserAgent,
    AuthQuery(query): AuthQuery<TokenQuery>,
    body: UnreadAuthJsonBody<TokenRequest>,
) -> Result<Json<SessionBody>, AuthApiError> {
    let grant_type = GrantType::from_word(&query.grant_type.unwrap_or_default())?;
    accounts.rate_limits().check(RateLimit::Token, address).await?;
    let sign_in = match TokenRequest::read(grant_type, body).await? {
        TokenRequest::Password(body) => {
            return Ok(Json(sign_in_by_password(&accounts, body, address, user_agent).await?));
        }
        TokenRequest::RefreshToken(body) => {
            let token = body.refresh_token.filter(|token| !token.is_empty());
            accounts
                .refresh_session(&token.ok_or(GoTrueError::validation_failed("Refresh token is not valid"))?)
                .await?
        }
        TokenRequest::Pkce(body) => {
            let code = body.auth_code.filter(|code| !code.is_empty()).ok_or(NO_CODE)?;
            let verifier = body.code_verifier.filter(|verifier| !verifier.is_empty()).ok_or(NO_CODE)?;
            let origin = RequestOrigin { address: Some(address), user_agent };
            accounts.exchange_auth_code(&code, &verifier, origin).await?
        }
        TokenRequest::IdToken(body) => return Err(reject_id_token(body).into()),
    };
    Ok(Json(sign_in.into()))
}

async fn sign_in_by_password(
    accounts: &AccountService,
    body: PasswordGrant,
    from: IpAddr,
    user_agent: Option<String>,
) -> Result<SessionBody, AuthError> {
    accounts.check_email_sign_in(EMAIL_LOGINS_DISABLED)?;
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

/// Query of [`sign_out`].
#[derive(Deserialize, JsonSchema)]
pub struct SignOutQuery {
    /// Sessions that end: all of the user's, only the caller's, or all except the caller's.
    #[schemars(extend("enum" = ["global", "local", "others"], "default" = "global"))]
    scope: Option<String>,
}

/// Ends sessions (`POST /logout?scope=…`). auth-js expects 204.
pub async fn sign_out(
    State(accounts): State<AccountService>,
    Caller(claims): Caller,
    AuthQuery(query): AuthQuery<SignOutQuery>,
) -> Result<NoContent, AuthApiError> {
    let scope = SignOutScope::from_word(query.scope.as_deref())?;
    accounts.sign_out(claims, scope).await?;
    Ok(NoContent)
}
