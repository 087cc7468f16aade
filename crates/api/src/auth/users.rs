//! `/signup` and `/user`.

use accounts::email_address::MAX_ADDRESS_BYTES;
use accounts::gotrue_error::{
    ANONYMOUS_DISABLED, CONFLICT, EMAIL_LOGINS_DISABLED, EMAIL_SIGNUPS_DISABLED, GoTrueError, PHONE_SIGNUP_DISABLED,
    SIGNUP_DISABLED,
};
use accounts::pkce::MAX_CHALLENGE_CHARS;
use accounts::rate_limits::RateLimit;
use accounts::sign_up::{SignUpOutcome, SignUpRequest, UserUpdate};
use accounts::{AccountService, AuthError, RequestOrigin, phone};
use axum::Json;
use axum::extract::State;
use http_server::extract::{Address, UserAgent};
use platform::BackgroundTasks;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::dto::{SessionBody, UserBody};
use super::error::AuthApiError;
use super::extract::{AuthJsonBody, AuthQuery, Caller, EmailLinkQuery, UnreadAuthJsonBody, link_target};
use crate::state::PublicSettings;

/// A new account; an anonymous one without email address and phone number. As in GoTrue, `null` counts as a field that
/// is left out.
#[derive(Deserialize, JsonSchema)]
pub struct SignUpBody {
    #[schemars(length(max = MAX_ADDRESS_BYTES))]
    email: Option<String>,
    /// Not supported: phone numbers are rejected.
    phone: Option<String>,
    password: Option<String>,
    /// Channel for messages to a phone.
    channel: Option<String>,
    /// Metadata of the account. `registration_token`, where sign-up is by invitation, is not stored.
    data: Option<Map<String, Value>>,
    /// PKCE challenge (RFC 7636).
    #[schemars(length(max = MAX_CHALLENGE_CHARS))]
    code_challenge: Option<String>,
    /// Method of the challenge: `s256` or `plain`.
    code_challenge_method: Option<String>,
}

/// Changes of the caller's account. As in GoTrue, `null` counts as a field that is left out.
#[derive(Deserialize, JsonSchema)]
pub struct UserUpdateBody {
    /// New address. It takes effect when it is confirmed.
    #[schemars(length(max = MAX_ADDRESS_BYTES))]
    email: Option<String>,
    /// Not supported: phone numbers are rejected.
    phone: Option<String>,
    /// New password.
    password: Option<String>,
    current_password: Option<String>,
    /// Code of `GET /reauthenticate`.
    nonce: Option<String>,
    /// Merged into the metadata; null removes a key.
    data: Option<Map<String, Value>>,
    /// Not permitted: only the administrator changes this metadata.
    app_metadata: Option<Map<String, Value>>,
    /// Channel for messages to a phone.
    channel: Option<String>,
    /// PKCE challenge (RFC 7636).
    #[schemars(length(max = MAX_CHALLENGE_CHARS))]
    code_challenge: Option<String>,
    /// Method of the challenge: `s256` or `plain`.
    code_challenge_method: Option<String>,
}

/// A session, or an account whose address has to be confirmed first.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub enum SignUpResponse {
    /// The account can be used at once.
    SignedIn(SessionBody),
    /// The account waits for the confirmation of its address.
    ConfirmationPending(UserBody),
}

/// Creates an account, or an anonymous one without email and phone (`POST /signup`).
pub async fn sign_up(
    State(settings): State<PublicSettings>,
    State(accounts): State<AccountService>,
    Address(address): Address,
    UserAgent(user_agent): UserAgent,
    AuthQuery(query): AuthQuery<EmailLinkQuery>,
    AuthJsonBody(body): AuthJsonBody<SignUpBody>,
) -> Result<Json<SignUpResponse>, AuthApiError> {
    let origin = RequestOrigin { address: Some(address), user_agent };
    let is_missing = |text: &Option<String>| text.as_ref().is_none_or(String::is_empty);
    if is_missing(&body.email) && is_missing(&body.phone) {
        if !settings.anonymous_sign_in {
            return Err(ANONYMOUS_DISABLED.into());
        }
        if !accounts.sign_ups().is_open() {
            return Err(SIGNUP_DISABLED.into());
        }
        // Counted after the body was read, unlike elsewhere: the body decides which limit applies.
        accounts.rate_limits().check(RateLimit::Anonymous, address).await?;
        let sign_in = accounts.sign_in_anonymously(body.data.unwrap_or_default(), origin).await?;
        return Ok(Json(SignUpResponse::SignedIn(sign_in.into())));
    }
    accounts.rate_limits().check(RateLimit::SignUp, address).await?;
    let account = read_new_account(&accounts, &query, body)?;
    Ok(Json(match accounts.sign_up(account, origin).await? {
        SignUpOutcome::SignedIn(sign_in) => SignUpResponse::SignedIn(sign_in.into()),
        // auth-js takes a body without tokens for an account that waits for its confirmation.
        SignUpOutcome::ConfirmationPending(user) => SignUpResponse::ConfirmationPending(user.into()),
    }))
}

/// Validates the body of a sign-up, in the order in which GoTrue checks it.
fn read_new_account(
    accounts: &AccountService,
    query: &EmailLinkQuery,
    body: SignUpBody,
) -> Result<SignUpRequest, AuthError> {
    accounts.check_email_sign_in(EMAIL_SIGNUPS_DISABLED)?;
    accounts.check_accepts_sign_up(body.data.as_ref())?;
    let (email, phone) = (body.email.unwrap_or_default(), body.phone.unwrap_or_default());
    let password = body.password.unwrap_or_default();
    if password.is_empty() {
        return Err(GoTrueError::validation_failed("Signup requires a valid password").into());
    }
    accounts.password_rules().check_new(&password, &[&email])?;
    if !email.is_empty() && !phone.is_empty() {
        return Err(GoTrueError::validation_failed(
            "Only an email address or phone number should be provided on signup.",
        )
        .into());
    }
    if !phone.is_empty() {
        phone::check_channel(&body.channel.unwrap_or_default())?;
        if body.code_challenge.as_ref().is_some_and(|challenge| !challenge.is_empty()) {
            return Err(GoTrueError::validation_failed("PKCE not supported for phone signups").into());
        }
    }
    let link_target = link_target(accounts, query, body.code_challenge, body.code_challenge_method)?;
    if email.is_empty() {
        return Err(PHONE_SIGNUP_DISABLED.into());
    }
    Ok(SignUpRequest { email, password, data: body.data.unwrap_or_default(), link_target })
}

/// Returns the caller's account (`GET /user`).
pub async fn get_user(
    State(accounts): State<AccountService>,
    Caller(claims): Caller,
) -> Result<Json<UserBody>, AuthApiError> {
    Ok(Json(accounts.current_user(claims).await?.into()))
}

/// Changes the caller's account (`PUT /user`).
pub async fn update_user(
    State(accounts): State<AccountService>,
    State(tasks): State<BackgroundTasks>,
    Caller(claims): Caller,
    Address(address): Address,
    AuthQuery(query): AuthQuery<EmailLinkQuery>,
    body: UnreadAuthJsonBody<UserUpdateBody>,
) -> Result<Json<UserBody>, AuthApiError> {
    accounts.rate_limits().check(RateLimit::UpdateUser, address).await?;
    let body = body.read().await?;
    if body.password.is_some() || body.email.as_ref().is_some_and(|email| !email.is_empty()) {
        accounts.check_email_sign_in(EMAIL_LOGINS_DISABLED)?;
    }
    let filled = |text: Option<String>| text.filter(|text| !text.is_empty());
    let change = UserUpdate {
        email: filled(body.email),
        phone: filled(body.phone),
        channel: body.channel.unwrap_or_default(),
        password: body.password,
        current_password: filled(body.current_password),
        nonce: filled(body.nonce),
        data: body.data,
        sets_app_metadata: body.app_metadata.is_some(),
        redirect: accounts.redirect_target(query.redirect_to.as_deref()),
        challenge: (body.code_challenge, body.code_challenge_method),
        from: address,
    };
    let work = async move { accounts.update_user(claims, change).await };
    // In a task of its own, so that the change is stored after its email even if the client disconnects.
    let user = tasks.spawn_and_wait("change of an account", work).await.unwrap_or(Err(CONFLICT.into()))?;
    Ok(Json(user.into()))
}
