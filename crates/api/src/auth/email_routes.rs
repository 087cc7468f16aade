//! Requests for emails: `/recover`, `/otp`, `/magiclink`, `/resend` and `/reauthenticate`. Responses are empty and the
//! same for every address, so that they do not disclose which accounts exist.

use accounts::email_address::MAX_ADDRESS_BYTES;
use accounts::emails::LinkTarget;
use accounts::gotrue_error::{
    CONFLICT, EMAIL_DISABLED, EMAIL_LOGINS_DISABLED, GoTrueError, MAGIC_LINK_DISABLED, OTP_DISABLED,
    PHONE_CHANGE_DISABLED,
};
use accounts::pkce::MAX_CHALLENGE_CHARS;
use accounts::rate_limits::RateLimit;
use accounts::recovery::EmailSignInRequest;
use accounts::{AccountService, AuthError, email_address};
use axum::Json;
use axum::extract::State;
use http_server::extract::Address;
use platform::BackgroundTasks;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::dto::EmptyObject;
use super::error::AuthApiError;
use super::extract::{AuthQuery, Caller, EmailLinkQuery, UnreadAuthJsonBody, link_target};

/// The account whose password was forgotten. As in GoTrue, `null` counts as a field that is left out.
#[derive(Deserialize, JsonSchema)]
pub struct RecoverBody {
    #[schemars(required, length(max = MAX_ADDRESS_BYTES))]
    email: Option<String>,
    /// PKCE challenge (RFC 7636).
    #[schemars(length(max = MAX_CHALLENGE_CHARS))]
    code_challenge: Option<String>,
    /// Method of the challenge: `s256` or `plain`.
    code_challenge_method: Option<String>,
}

/// The account to sign in to by email. As in GoTrue, `null` counts as a field that is left out.
#[derive(Deserialize, JsonSchema)]
pub struct OtpBody {
    #[schemars(length(max = MAX_ADDRESS_BYTES))]
    email: Option<String>,
    /// Not supported: phone numbers are rejected.
    phone: Option<String>,
    /// Channel for messages to a phone.
    channel: Option<String>,
    /// False to send nothing to an address without an account. By default, the account is created.
    create_user: Option<bool>,
    /// Metadata of a new account.
    data: Option<Map<String, Value>>,
    /// PKCE challenge (RFC 7636).
    #[schemars(length(max = MAX_CHALLENGE_CHARS))]
    code_challenge: Option<String>,
    /// Method of the challenge: `s256` or `plain`.
    code_challenge_method: Option<String>,
}

/// The email to send again. As in GoTrue, `null` counts as a field that is left out.
#[derive(Deserialize, JsonSchema)]
pub struct ResendBody {
    /// Only `signup` and `email_change` are supported.
    #[serde(rename = "type")]
    #[schemars(required, extend("enum" = ["signup", "email_change", "sms", "phone_change"]))]
    kind: Option<String>,
    #[schemars(length(max = MAX_ADDRESS_BYTES))]
    email: Option<String>,
    /// Not supported: phone numbers are rejected.
    phone: Option<String>,
    /// PKCE challenge (RFC 7636).
    #[schemars(length(max = MAX_CHALLENGE_CHARS))]
    code_challenge: Option<String>,
    /// Method of the challenge: `s256` or `plain`.
    code_challenge_method: Option<String>,
}

/// Rejects a request for an email if the server cannot send any, or emails do not sign in.
fn check_can_send_email(accounts: &AccountService, refusal: GoTrueError) -> Result<(), AuthError> {
    accounts.check_email_sign_in(EMAIL_LOGINS_DISABLED)?;
    if accounts.can_send_email() { Ok(()) } else { Err(refusal.into()) }
}

/// An empty object, or an error.
type EmptyResult = Result<Json<EmptyObject>, AuthApiError>;

/// Sends an email for a forgotten password (`POST /recover`).
pub async fn send_recovery_email(
    State(accounts): State<AccountService>,
    Address(from): Address,
    AuthQuery(query): AuthQuery<EmailLinkQuery>,
    body: UnreadAuthJsonBody<RecoverBody>,
) -> EmptyResult {
    // Before the body is read: attempts with a broken body count as well.
    accounts.rate_limits().check(RateLimit::Recover, from).await?;
    check_can_send_email(&accounts, EMAIL_DISABLED)?;
    let body = body.read().await?;
    let email = body.email.unwrap_or_default();
    if email.is_empty() {
        return Err(GoTrueError::validation_failed("Password recovery requires an email").into());
    }
    let email = email_address::normalize(&email)?;
    let link_target = link_target(&accounts, &query, body.code_challenge, body.code_challenge_method)?;
    accounts.send_recovery_email(email, link_target).await?;
    Ok(Json(EmptyObject {}))
}

/// Sends an email with a link and a code to sign in (`POST /otp`).
pub async fn send_sign_in_email(
    State(accounts): State<AccountService>,
    Address(from): Address,
    AuthQuery(query): AuthQuery<EmailLinkQuery>,
    body: UnreadAuthJsonBody<OtpBody>,
) -> EmptyResult {
    accounts.rate_limits().check(RateLimit::Otp, from).await?;
    let body = body.read().await?;
    let is_set = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
    if is_set(&body.email) && is_set(&body.phone) {
        return Err(GoTrueError::validation_failed("Only an email address or phone number should be provided").into());
    }
    if is_set(&body.email) && is_set(&body.channel) {
        return Err(GoTrueError::validation_failed("Channel should only be specified with Phone OTP").into());
    }
    let link_target = link_target(&accounts, &query, body.code_challenge.clone(), body.code_challenge_method.clone())?;
    let keeps_out = body.create_user == Some(false);
    if is_set(&body.phone) {
        // No account has a phone number.
        return Err(if keeps_out { OTP_DISABLED } else { PHONE_CHANGE_DISABLED }.into());
    }
    if !is_set(&body.email) {
        return Err(GoTrueError::validation_failed("One of email or phone must be set").into());
    }
    check_can_send_email(&accounts, OTP_DISABLED)?;
    let email = email_address::normalize(body.email.as_deref().unwrap_or_default());
    // An invalid address has no account.
    let email = if keeps_out { email.map_err(|_| OTP_DISABLED)? } else { email? };
    mail_sign_in(&accounts, email, link_target, body).await
}

/// Sends an email with a link to sign in, for older clients (`POST /magiclink`).
pub async fn send_magic_link(
    State(accounts): State<AccountService>,
    Address(from): Address,
    AuthQuery(query): AuthQuery<EmailLinkQuery>,
    body: UnreadAuthJsonBody<OtpBody>,
) -> EmptyResult {
    accounts.rate_limits().check(RateLimit::Otp, from).await?;
    check_can_send_email(&accounts, MAGIC_LINK_DISABLED)?;
    let body = body.read().await?;
    if body.email.as_ref().is_none_or(String::is_empty) {
        // GoTrue's own words, which are those of `/recover`; the status differs.
        return Err(GoTrueError::unsupported(422, "validation_failed", "Password recovery requires an email").into());
    }
    let email = email_address::normalize(body.email.as_deref().unwrap_or_default())?;
    let link_target = link_target(&accounts, &query, body.code_challenge.clone(), body.code_challenge_method.clone())?;
    mail_sign_in(&accounts, email, link_target, OtpBody { create_user: None, ..body }).await
}

async fn mail_sign_in(accounts: &AccountService, email: String, link_target: LinkTarget, body: OtpBody) -> EmptyResult {
    // As in GoTrue, a sign-in by email creates the account unless the client says otherwise.
    let create = body.create_user.unwrap_or(true);
    let sign_in = EmailSignInRequest { email, create, data: body.data.unwrap_or_default(), link_target };
    accounts.send_sign_in_email(sign_in).await?;
    Ok(Json(EmptyObject {}))
}

/// Sends an email again (`POST /resend`).
pub async fn resend_email(
    State(accounts): State<AccountService>,
    Address(from): Address,
    AuthQuery(query): AuthQuery<EmailLinkQuery>,
    body: UnreadAuthJsonBody<ResendBody>,
) -> EmptyResult {
    accounts.rate_limits().check(RateLimit::Resend, from).await?;
    let body = body.read().await?;
    let kind = body.kind.unwrap_or_default();
    let (email, phone) = (body.email.unwrap_or_default(), body.phone.unwrap_or_default());
    let invalid = |words| Err(GoTrueError::validation_failed(words).into());
    if !["signup", "email_change", "sms", "phone_change"].contains(&kind.as_str()) {
        return invalid("Missing one of these types: signup, email_change, sms, phone_change");
    }
    let by_mail = ["signup", "email_change"].contains(&kind.as_str());
    let (challenge, method) = if by_mail { (body.code_challenge, body.code_challenge_method) } else { (None, None) };
    let link_target = link_target(&accounts, &query, challenge, method)?;
    match (kind.as_str(), email.is_empty(), phone.is_empty()) {
        ("signup", true, _) => return invalid("Type provided requires an email address"),
        ("sms", _, true) => return invalid("Type provided requires a phone number"),
        (_, false, false) => return invalid("Only an email address or phone number should be provided."),
        (_, true, true) => return invalid("Missing email address or phone number"),
        (_, true, false) => return Err(NO_PHONE.into()),
        (_, false, true) => {}
    }
    check_can_send_email(&accounts, EMAIL_DISABLED)?;
    let email = email_address::normalize(&email)?;
    match kind.as_str() {
        "signup" => accounts.resend_confirmation(email, link_target).await?,
        "email_change" => accounts.resend_email_change(email, link_target).await?,
        // No account waits for the confirmation of a phone number.
        _ => {}
    }
    Ok(Json(EmptyObject {}))
}

const NO_PHONE: GoTrueError = GoTrueError::unsupported(400, "phone_provider_disabled", "Phone logins are disabled");

/// Sends the code for changing a password (`GET /reauthenticate`).
pub async fn send_reauthentication_code(
    State(accounts): State<AccountService>,
    State(tasks): State<BackgroundTasks>,
    Caller(claims): Caller,
) -> EmptyResult {
    let work = async move { accounts.send_reauthentication_code(claims).await };
    // In a task of its own, so that an emailed code is stored even if the client disconnects.
    tasks.spawn_and_wait("code for a new password", work).await.unwrap_or(Err(CONFLICT.into()))?;
    Ok(Json(EmptyObject {}))
}
