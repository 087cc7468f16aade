//! `/factors`: second factors, which are authenticator apps and security keys.

use accounts::gotrue_error::{
    ANONYMOUS_NOT_ALLOWED, FACTOR_ID_MALFORMED, FACTOR_NOT_FOUND, PHONE_FACTOR_DISABLED, UNKNOWN_FACTOR_TYPE,
};
use accounts::mfa::security_keys::{ClientSite, KeyAnswer, KeyChallenge};
use accounts::mfa::{ChallengeAnswer, EnrolledTotp, MAX_NAME_CHARS};
use accounts::rate_limits::RateLimit;
use accounts::{AccountService, Claims};
use axum::Json;
use axum::extract::{FromRef, FromRequestParts, Path, State};
use axum::http::request::Parts;
use domain::{ChallengeId, FactorId};
use http_server::extract::Address;
use http_server::openapi::{Operation, OperationInput, OperationOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use storage::factors::FactorKind;
use storage::users::User;
use uuid::Uuid;

use super::dto::SessionBody;
use super::error::AuthApiError;
use super::extract::{AuthJsonBody, Caller, OptionalAuthJsonBody, UnreadAuthJsonBody};

/// A caller whose account is not anonymous.
pub struct NamedCaller {
    /// What the access token says.
    pub claims: Claims,
    /// The account.
    pub user: User,
}

impl<S> FromRequestParts<S> for NamedCaller
where
    AccountService: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = AuthApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, AuthApiError> {
        let Caller(claims) = Caller::from_request_parts(parts, state).await?;
        let user = AccountService::from_ref(state).current_user(claims).await?;
        if user.is_anonymous { Err(ANONYMOUS_NOT_ALLOWED.into()) } else { Ok(Self { claims, user }) }
    }
}

/// The route's [`Access`](http_server::route::Access) describes the token.
impl OperationInput for NamedCaller {
    fn describe(operation: &mut Operation<'_>) {
        AuthApiError::describe(operation);
    }
}

/// The factor that the path names, and the caller who owns it.
pub struct OwnFactor {
    claims: Claims,
    user: User,
    factor: FactorId,
}

impl<S> FromRequestParts<S> for OwnFactor
where
    AccountService: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = AuthApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, AuthApiError> {
        let NamedCaller { claims, user } = NamedCaller::from_request_parts(parts, state).await?;
        let Path(id) = Path::<FactorId>::from_request_parts(parts, state).await.map_err(|_| FACTOR_ID_MALFORMED)?;
        if user.factors.iter().all(|factor| factor.id != id) {
            // Also for factors of other users, which the caller must not be able to tell from unknown ones.
            return Err(FACTOR_NOT_FOUND.into());
        }
        Ok(Self { claims, user, factor: id })
    }
}

/// The path of the route describes the parameter.
impl OperationInput for OwnFactor {
    fn describe(operation: &mut Operation<'_>) {
        AuthApiError::describe(operation);
    }
}

/// A new factor. As in GoTrue, `null` counts as a field that is left out.
#[derive(Deserialize, JsonSchema)]
pub struct EnrollBody {
    #[schemars(length(max = MAX_NAME_CHARS))]
    friendly_name: Option<String>,
    /// `phone` is not supported.
    #[schemars(required, extend("enum" = ["totp", "phone", "webauthn"]))]
    factor_type: Option<String>,
    /// Name of the site in the authenticator app; its host by default.
    #[schemars(length(max = MAX_NAME_CHARS))]
    issuer: Option<String>,
}

/// A new factor. No other response contains the secret of an authenticator app.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "EnrolledFactor")]
pub struct EnrolledBody {
    id: FactorId,
    #[schemars(extend("enum" = ["totp", "webauthn"]))]
    r#type: &'static str,
    friendly_name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    totp: Option<TotpBody>,
}

/// The secret of a factor, for the authenticator app.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TotpSecret")]
struct TotpBody {
    /// QR code of `uri`, as SVG.
    qr_code: String,
    /// Secret in base32.
    secret: String,
    /// `otpauth:` URI.
    #[schemars(url)]
    uri: String,
}

impl From<EnrolledTotp> for TotpBody {
    fn from(EnrolledTotp { qr_code, secret, uri }: EnrolledTotp) -> Self {
        Self { qr_code, secret, uri }
    }
}

/// The site that a security key shall answer for.
#[derive(Default, Deserialize, JsonSchema)]
pub struct ChallengeRequestBody {
    webauthn: Option<ClientSite>,
}

/// A challenge, which a code or a security key has to answer from the same network address within five minutes.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "FactorChallenge")]
pub struct ChallengeBody {
    id: ChallengeId,
    #[schemars(extend("enum" = ["totp", "webauthn"]))]
    r#type: &'static str,
    /// Seconds since 1970.
    expires_at: i64,
    /// What a security key has to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    webauthn: Option<KeyChallenge>,
}

/// A code or the response of a security key, which answers a challenge.
#[derive(Deserialize, JsonSchema)]
pub struct VerifyFactorBody {
    #[schemars(required)]
    challenge_id: Option<ChallengeId>,
    #[schemars(regex(pattern = "^[0-9]{6}$"))]
    code: Option<String>,
    webauthn: Option<KeyAnswer>,
}

/// A factor that was deleted.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "UnenrolledFactor")]
pub struct UnenrolledBody {
    pub(super) id: FactorId,
}

/// Enrols an authenticator app or a security key (`POST /factors`).
pub async fn enroll_factor(
    State(accounts): State<AccountService>,
    person: NamedCaller,
    AuthJsonBody(body): AuthJsonBody<EnrollBody>,
) -> Result<Json<EnrolledBody>, AuthApiError> {
    let name = body.friendly_name.unwrap_or_default();
    let enrolled = match body.factor_type.as_deref() {
        Some("totp") => {
            let issuer = body.issuer.unwrap_or_default();
            accounts.enroll_authenticator_app(person.claims, &person.user, name, &issuer).await?
        }
        Some("webauthn") => accounts.enroll_security_key(person.claims, &person.user, name).await?,
        Some("phone") => return Err(PHONE_FACTOR_DISABLED.into()),
        _ => return Err(UNKNOWN_FACTOR_TYPE.into()),
    };
    let kind = if enrolled.totp.is_some() { FactorKind::Totp } else { FactorKind::WebAuthn };
    let (id, totp) = (enrolled.id, enrolled.totp.map(TotpBody::from));
    Ok(Json(EnrolledBody { id, r#type: kind.as_str(), friendly_name: enrolled.friendly_name, totp }))
}

/// Creates a challenge for a factor (`POST /factors/{id}/challenge`).
pub async fn create_challenge(
    State(accounts): State<AccountService>,
    own: OwnFactor,
    Address(address): Address,
    OptionalAuthJsonBody(body): OptionalAuthJsonBody<ChallengeRequestBody>,
) -> Result<Json<ChallengeBody>, AuthApiError> {
    accounts.rate_limits().check(RateLimit::FactorChallenge, address).await?;
    let site = body.unwrap_or_default().webauthn;
    let issued = accounts.challenge_factor(&own.user, own.factor, address, site).await?;
    let (id, expires_at, webauthn) = (issued.id, issued.expires_at, issued.webauthn);
    Ok(Json(ChallengeBody { id, r#type: issued.kind.as_str(), expires_at, webauthn }))
}

/// Verifies a code or a security key and raises the session to the second factor (`POST /factors/{id}/verify`).
pub async fn verify_factor(
    State(accounts): State<AccountService>,
    own: OwnFactor,
    Address(address): Address,
    body: UnreadAuthJsonBody<VerifyFactorBody>,
) -> Result<Json<SessionBody>, AuthApiError> {
    accounts.rate_limits().check(RateLimit::FactorVerify, address).await?;
    let body = body.read().await?;
    // A missing challenge gets the response of one that does not exist.
    let challenge = body.challenge_id.unwrap_or(ChallengeId(Uuid::nil()));
    let answer = ChallengeAnswer { challenge, code: body.code.unwrap_or_default(), webauthn: body.webauthn };
    Ok(Json(accounts.verify_factor(own.claims, &own.user, own.factor, address, answer).await?.into()))
}

/// Deletes a factor (`DELETE /factors/{id}`).
pub async fn unenroll_factor(
    State(accounts): State<AccountService>,
    own: OwnFactor,
) -> Result<Json<UnenrolledBody>, AuthApiError> {
    accounts.unenroll_factor(own.claims, &own.user, own.factor).await?;
    Ok(Json(UnenrolledBody { id: own.factor }))
}
