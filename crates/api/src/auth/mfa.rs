//! `/factors`: second factors, which are authenticator apps.

use accounts::gotrue_error::{
    ANONYMOUS_NOT_ALLOWED, FACTOR_ID_MALFORMED, FACTOR_NOT_FOUND, PHONE_FACTOR_DISABLED, UNKNOWN_FACTOR_TYPE,
    WEBAUTHN_FACTOR_DISABLED,
};
use accounts::mfa::{ChallengeAnswer, MAX_NAME_CHARS};
use accounts::rate_limits::RateLimit;
use accounts::{AccountService, Claims};
use axum::Json;
use axum::extract::{FromRef, FromRequestParts, Path, State};
use axum::http::request::Parts;
use domain::{ChallengeId, FactorId};
use http_server::openapi::{Operation, OperationInput, OperationOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use storage::users::User;
use uuid::Uuid;

use super::dto::SessionBody;
use super::error::AuthApiError;
use super::extract::{Address, AuthJsonBody, Caller, UnreadAuthJsonBody};

/// The only supported type of factor.
const TOTP_FACTOR: &str = "totp";

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
    /// Only `totp` is supported.
    #[schemars(required, extend("enum" = [TOTP_FACTOR, "phone", "webauthn"]))]
    factor_type: Option<String>,
    /// Name of the site in the authenticator app; its host by default.
    #[schemars(length(max = MAX_NAME_CHARS))]
    issuer: Option<String>,
}

/// A new factor with its secret, which no other response contains.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "EnrolledFactor")]
pub struct EnrolledBody {
    id: FactorId,
    #[schemars(extend("const" = TOTP_FACTOR))]
    r#type: &'static str,
    friendly_name: String,
    totp: TotpBody,
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

/// A challenge, which a code from the same network address has to answer within five minutes.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "FactorChallenge")]
pub struct ChallengeBody {
    id: ChallengeId,
    #[schemars(extend("const" = TOTP_FACTOR))]
    r#type: &'static str,
    /// Seconds since 1970.
    expires_at: i64,
}

/// A code that answers a challenge.
#[derive(Deserialize, JsonSchema)]
pub struct VerifyFactorBody {
    #[schemars(required)]
    challenge_id: Option<ChallengeId>,
    #[schemars(required, regex(pattern = "^[0-9]{6}$"))]
    code: Option<String>,
}

/// A factor that was deleted.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "UnenrolledFactor")]
pub struct UnenrolledBody {
    pub(super) id: FactorId,
}

/// Enrols an authenticator app (`POST /factors`).
pub async fn enroll_factor(
    State(accounts): State<AccountService>,
    person: NamedCaller,
    AuthJsonBody(body): AuthJsonBody<EnrollBody>,
) -> Result<Json<EnrolledBody>, AuthApiError> {
    match body.factor_type.as_deref() {
        Some(TOTP_FACTOR) => {}
        Some("phone") => return Err(PHONE_FACTOR_DISABLED.into()),
        Some("webauthn") => return Err(WEBAUTHN_FACTOR_DISABLED.into()),
        _ => return Err(UNKNOWN_FACTOR_TYPE.into()),
    }
    let name = body.friendly_name.unwrap_or_default();
    let issuer = body.issuer.unwrap_or_default();
    let enrolled = accounts.enroll_factor(person.claims, &person.user, name, &issuer).await?;
    let totp = TotpBody { qr_code: enrolled.qr_code, secret: enrolled.secret, uri: enrolled.uri };
    Ok(Json(EnrolledBody { id: enrolled.id, r#type: TOTP_FACTOR, friendly_name: enrolled.friendly_name, totp }))
}

/// Creates a challenge for a factor (`POST /factors/{id}/challenge`).
pub async fn create_challenge(
    State(accounts): State<AccountService>,
    own: OwnFactor,
    Address(address): Address,
) -> Result<Json<ChallengeBody>, AuthApiError> {
    accounts.rate_limits().check(RateLimit::FactorChallenge, address).await?;
    let invited = accounts.challenge_factor(own.claims.user, own.factor, address).await?;
    Ok(Json(ChallengeBody { id: invited.id, r#type: TOTP_FACTOR, expires_at: invited.expires_at }))
}

/// Verifies a code and raises the session to the second factor (`POST /factors/{id}/verify`).
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
    let answer = ChallengeAnswer { challenge, code: body.code.unwrap_or_default() };
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
