//! `/verify`: API clients send a code or the token of a link, and browsers follow the link.

use accounts::emails::LinkType;
use accounts::gotrue_error::{GoTrueError, OTP_EXPIRED};
use accounts::rate_limits::RateLimit;
use accounts::sessions::UserSession;
use accounts::verification::{PresentedToken, VerificationOutcome};
use accounts::{AccountService, AuthError, email_address, one_time_tokens, phone};
use axum::Json;
use axum::extract::{FromRequest, Request, State};
use axum::http::{HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::json;
use url::{Url, form_urlencoded};

use super::dto::SessionBody;
use super::error::AuthApiError;
use super::extract::{Address, AuthJsonBody, UserAgent, query_value};

/// Message after the first of the two confirmations of a change of address.
const FIRST_CONFIRMATION_MESSAGE: &str =
    "Confirmation link accepted. Please proceed to confirm link sent to the other email";
const NO_TYPE: GoTrueError = GoTrueError::validation_failed("Verify requires a verification type");
const UNKNOWN_TYPE: GoTrueError = GoTrueError::validation_failed("Invalid email verification type");
const NO_ADDRESS: GoTrueError = GoTrueError::unsupported(422, "validation_failed", "Invalid email format");

/// Request body of [`verify_token`]. As in GoTrue, `null` counts as a field that is left out.
#[derive(Deserialize)]
pub struct VerifyBody {
    #[serde(rename = "type")]
    kind: Option<String>,
    token: Option<String>,
    token_hash: Option<String>,
    email: Option<String>,
    phone: Option<String>,
    redirect_to: Option<String>,
}

/// Verifies a code or the token of a link (`POST /verify`).
pub async fn verify_token(
    State(accounts): State<AccountService>,
    Address(from): Address,
    UserAgent(user_agent): UserAgent,
    request: Request,
) -> Result<Response, AuthApiError> {
    accounts.rate_limits().check(RateLimit::Verify, from)?;
    let AuthJsonBody(body) = AuthJsonBody::<VerifyBody>::from_request(request, &()).await?;
    let kind = body.kind.as_deref().filter(|kind| !kind.is_empty()).ok_or(NO_TYPE)?.to_owned();
    let link = LinkType::from_word(&kind);
    let presented = parse_proof(body)?;
    // A code of an unknown type is reported as a wrong code.
    let unknown = if matches!(presented, PresentedToken::Link(_)) { UNKNOWN_TYPE } else { OTP_EXPIRED };
    let verified = accounts.verify_otp(link.ok_or(unknown)?, presented, from, user_agent).await?;
    Ok(match verified {
        VerificationOutcome::SignedIn(sign_in) => Json(SessionBody::from(*sign_in)).into_response(),
        // Auth codes are issued to browsers that follow a link, never here.
        VerificationOutcome::FirstConfirmed | VerificationOutcome::AuthCode(_) => {
            Json(json!({ "msg": FIRST_CONFIRMATION_MESSAGE, "code": "200" })).into_response()
        }
    })
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
    uri: Uri,
) -> Result<Response, AuthApiError> {
    accounts.rate_limits().check(RateLimit::Verify, from)?;
    let value = |name| query_value(uri.query(), name).filter(|value| !value.is_empty());
    let kind = value("type").ok_or(NO_TYPE)?;
    let token = value("token").ok_or(GoTrueError::validation_failed("Verify requires a token or a token hash"))?;
    // Checked against the allowed origins, because the redirect carries the session.
    let target = accounts.redirect_target(value("redirect_to").as_deref());
    if method == Method::HEAD {
        return Ok(redirect(&target));
    }
    let pkce = one_time_tokens::is_pkce(&token);
    let verified = match LinkType::from_word(&kind) {
        Some(link) => accounts.follow_link(link, &token, user_agent).await,
        None => Err(UNKNOWN_TYPE.into()),
    };
    Ok(redirect(&match verified {
        Ok(VerificationOutcome::SignedIn(sign_in)) => with_session(target, &sign_in, &kind),
        Ok(VerificationOutcome::AuthCode(code)) => with_query(target, &[("code", &code)]),
        Ok(VerificationOutcome::FirstConfirmed) => {
            with_message(target, &[("message", FIRST_CONFIRMATION_MESSAGE)], pkce)
        }
        Err(error) => {
            if error.status() >= 500 {
                tracing::error!(error = error.detail(), "the link of an email could not be processed");
            }
            let words = error.to_string();
            let told = [("error", oauth_error_code(error.status())), ("error_code", error.code())];
            with_message(target, &[told[0], told[1], ("error_description", &words)], pkce)
        }
    }))
}

/// Adds the session to the URL as its fragment, which browsers do not send to servers.
fn with_session(mut target: Url, sign_in: &UserSession, kind: &str) -> Url {
    let fragment = encode_form(&[
        ("access_token", &sign_in.access_token),
        ("expires_at", &sign_in.expires_at.to_string()),
        ("expires_in", &sign_in.expires_in.to_string()),
        ("refresh_token", &sign_in.refresh_token),
        // GoTrue marks its own redirects with this parameter.
        ("sb", ""),
        ("token_type", "bearer"),
        ("type", kind),
    ]);
    target.set_fragment(Some(&fragment));
    target
}

/// Adds a message to the URL as its fragment; for clients that use PKCE in the query, too.
fn with_message(target: Url, pairs: &[(&str, &str)], pkce: bool) -> Url {
    let mut target = if pkce { with_query(target, pairs) } else { target };
    target.set_fragment(Some(&encode_form(&[pairs, &[("sb", "")]].concat())));
    target
}

fn with_query(mut target: Url, pairs: &[(&str, &str)]) -> Url {
    // A client must not read an earlier value of the same name from its own address.
    let kept: Vec<(String, String)> = target
        .query_pairs()
        .filter(|(name, _)| pairs.iter().all(|(new, _)| new != name))
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .collect();
    target.query_pairs_mut().clear().extend_pairs(kept).extend_pairs(pairs);
    target
}

fn encode_form(pairs: &[(&str, &str)]) -> String {
    form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
}

/// Returns OAuth's error code for a status (RFC 6749 section 4.1.2.1), as GoTrue does.
fn oauth_error_code(status: u16) -> &'static str {
    match status {
        401 => "unauthorized_client",
        403 => "access_denied",
        500.. => "server_error",
        _ => "invalid_request",
    }
}

fn redirect(target: &Url) -> Response {
    match HeaderValue::from_str(target.as_str()) {
        Ok(target) => (StatusCode::SEE_OTHER, [(header::LOCATION, target)]).into_response(),
        Err(error) => AuthApiError::from(AuthError::internal(error)).into_response(),
    }
}
