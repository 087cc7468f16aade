//! `/verify`: API clients send a code or the token of a link, and browsers follow the link.

use accounts::email_address::MAX_ADDRESS_BYTES;
use accounts::emails::LinkType;
use accounts::gotrue_error::{EMAIL_LOGINS_DISABLED, GoTrueError, OTP_EXPIRED};
use accounts::rate_limits::RateLimit;
use accounts::verification::{PresentedToken, VerificationOutcome};
use accounts::{AccountService, AuthError, RequestOrigin, email_address, one_time_tokens, phone};
use axum::Json;
use axum::extract::State;
use axum::http::Method;
use axum::response::Redirect;
use http_server::extract::{Address, UserAgent};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::dto::SessionBody;
use super::error::AuthApiError;
use super::extract::{AuthQuery, UnreadAuthJsonBody};
use super::redirects::{with_error, with_message, with_query, with_session};

/// Message after the first of the two confirmations of a change of address.
const FIRST_CONFIRMATION_MESSAGE: &str =
    "Confirmation link accepted. Please proceed to confirm link sent to the other email";
const NO_TYPE: GoTrueError = GoTrueError::validation_failed("Verify requires a verification type");
const UNKNOWN_TYPE: GoTrueError = GoTrueError::validation_failed("Invalid email verification type");
const NO_ADDRESS: GoTrueError = GoTrueError::unsupported(422, "validation_failed", "Invalid email format");

/// A code with its address, or the token of a link. As in GoTrue, `null` counts as a field that is left out.
#[derive(Deserialize, JsonSchema)]
pub struct VerifyBody {
    #[serde(rename = "type")]
    #[schemars(
        required,
        extend("enum" = ["signup", "invite", "recovery", "magiclink", "email", "email_change"])
    )]
    kind: Option<String>,
    /// The code.
    token: Option<String>,
    /// The token of the link.
    token_hash: Option<String>,
    /// Address that the code was sent to.
    #[schemars(length(max = MAX_ADDRESS_BYTES))]
    email: Option<String>,
    /// Not supported: no codes are sent to phones.
    phone: Option<String>,
    /// Ignored for codes, rejected for links.
    redirect_to: Option<String>,
}

/// A session; or a message after the first of the two confirmations of a change of address.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub enum VerifyResponse {
    /// The code or token signs in.
    SignedIn(Box<SessionBody>),
    /// The other address has yet to be confirmed.
    FirstConfirmed(FirstConfirmation),
}

/// Message after the first of the two confirmations of a change of address.
#[derive(Serialize, JsonSchema)]
pub struct FirstConfirmation {
    #[schemars(extend("const" = "200"))]
    code: &'static str,
    msg: &'static str,
}

/// Query of [`follow_link`].
#[derive(Deserialize, JsonSchema)]
pub struct FollowLinkQuery {
    #[serde(rename = "type")]
    #[schemars(required)]
    kind: Option<String>,
    #[schemars(required)]
    token: Option<String>,
    /// Target of the link. The site itself, unless the target is allowed.
    redirect_to: Option<String>,
}

/// Verifies a code or the token of a link (`POST /verify`).
pub async fn verify_token(
    State(accounts): State<AccountService>,
    Address(from): Address,
    UserAgent(user_agent): UserAgent,
    body: UnreadAuthJsonBody<VerifyBody>,
) -> Result<Json<VerifyResponse>, AuthApiError> {
    accounts.rate_limits().check(RateLimit::Verify, from).await?;
    accounts.check_email_sign_in(EMAIL_LOGINS_DISABLED)?;
    let body = body.read().await?;
    let kind = body.kind.as_deref().filter(|kind| !kind.is_empty()).ok_or(NO_TYPE)?.to_owned();
    let link = LinkType::from_word(&kind);
    let presented = parse_proof(body)?;
    // A code of an unknown type is reported as a wrong code.
    let unknown = if matches!(presented, PresentedToken::Link(_)) { UNKNOWN_TYPE } else { OTP_EXPIRED };
    let verified = accounts.verify_otp(link.ok_or(unknown)?, presented, from, user_agent).await?;
    Ok(Json(match verified {
        VerificationOutcome::SignedIn(sign_in) => VerifyResponse::SignedIn(Box::new((*sign_in).into())),
        // Auth codes are issued to browsers that follow a link, never here.
        VerificationOutcome::FirstConfirmed | VerificationOutcome::AuthCode(_) => {
            VerifyResponse::FirstConfirmed(FirstConfirmation { code: "200", msg: FIRST_CONFIRMATION_MESSAGE })
        }
    }))
}

fn parse_proof(body: VerifyBody) -> Result<PresentedToken, AuthError> {
    let set = |text: Option<String>| text.filter(|text| !text.is_empty());
    let (email, phone) = (set(body.email), set(body.phone));
    match (set(body.token), set(body.token_hash)) {
        (Some(code), None) => match (email, phone) {
            (Some(email), None) => {
                let email = email_address::normalize(&email).map_err(|_| NO_ADDRESS)?;
                Ok(PresentedToken::Code { email, code })
            }
            // This server sends no codes to phones.
            (None, Some(number)) => phone::check_number(&number).and(Err(OTP_EXPIRED.into())),
            _ => Err(GoTrueError::validation_failed(
                "Only an email address or phone number should be provided on verify",
            )
            .into()),
        },
        (None, Some(_)) if email.is_some() || phone.is_some() || set(body.redirect_to).is_some() => {
            Err(GoTrueError::validation_failed("Only the token_hash and type should be provided").into())
        }
        (None, Some(token)) => Ok(PresentedToken::Link(token)),
        _ => Err(GoTrueError::validation_failed("Verify requires either a token or a token hash").into()),
    }
}

/// Verifies the token of a link and redirects the browser to the link's target, with the session or an error
/// (`GET /verify`). Mail programs that check links in advance send `HEAD`, which does not use the token up.
pub async fn follow_link(
    State(accounts): State<AccountService>,
    Address(from): Address,
    UserAgent(user_agent): UserAgent,
    method: Method,
    AuthQuery(query): AuthQuery<FollowLinkQuery>,
) -> Result<Redirect, AuthApiError> {
    accounts.rate_limits().check(RateLimit::Verify, from).await?;
    let filled = |value: Option<String>| value.filter(|value| !value.is_empty());
    let kind = filled(query.kind).ok_or(NO_TYPE)?;
    let token = filled(query.token).ok_or(GoTrueError::validation_failed("Verify requires a token or a token hash"))?;
    // Checked against the allowed origins, because the redirect carries the session.
    let target = accounts.redirect_target(filled(query.redirect_to).as_deref());
    if method == Method::HEAD {
        return Ok(Redirect::to(target.as_str()));
    }
    let pkce = one_time_tokens::is_pkce(&token);
    let verified = match LinkType::from_word(&kind) {
        // The link of an invitation leads to the page, where the user signs in at the provider.
        Some(_) if accounts.oidc().is_some_and(|oidc| oidc.is_only) => Err(EMAIL_LOGINS_DISABLED.into()),
        Some(link) => {
            let origin = RequestOrigin { address: Some(from), user_agent };
            accounts.follow_link(link, &token, origin).await
        }
        None => Err(UNKNOWN_TYPE.into()),
    };
    let target = match verified {
        Ok(VerificationOutcome::SignedIn(sign_in)) => with_session(target, &sign_in, Some(&kind)),
        Ok(VerificationOutcome::AuthCode(code)) => with_query(target, &[("code", &code)]),
        Ok(VerificationOutcome::FirstConfirmed) => {
            with_message(target, &[("message", FIRST_CONFIRMATION_MESSAGE)], pkce)
        }
        Err(error) => {
            if error.status() >= 500 {
                tracing::error!(error = error.detail(), "the link of an email could not be processed");
            }
            with_error(target, &error, pkce)
        }
    };
    Ok(Redirect::to(target.as_str()))
}
