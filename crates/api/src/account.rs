//! `/api/account`: the user's devices, reauthentication and account deletion.

use std::sync::Arc;

use accounts::deletion::{AccountDeletionHandler, DeletionError};
use accounts::gotrue_error::{ACTION_NEEDS_REAUTHENTICATION, SESSION_NOT_FOUND, USER_NOT_FOUND};
use accounts::rate_limits::RateLimit;
use accounts::reauthentication::{IdentityProof, ProofMethod};
use accounts::{AccountService, AuthError};
use axum::Json;
use axum::extract::State;
use axum::response::NoContent;
use domain::{AuthSessionId, Timestamp};
use http_server::error::ApiError;
use http_server::extract::{Address, JsonBody, Named};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use storage::Storage;

use crate::signed_in::SignedIn;

/// A sign-in of the user, shown as a device.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Device {
    id: AuthSessionId,
    /// Whether the request comes from this device.
    current: bool,
    user_agent: Option<String>,
    created_at: Timestamp,
    last_used_at: Timestamp,
    /// Authenticator assurance level: `aal2` after a second factor, else `aal1`.
    #[schemars(extend("enum" = ["aal1", "aal2"]))]
    aal: String,
}

/// The user's devices, last used first.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DeviceList {
    devices: Vec<Device>,
}

/// Confirmation of [`delete_account`]: a protection against mistakes, not a credential.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct DeleteAccount {
    /// Email address of the account; empty for an anonymous user.
    email: String,
}

/// Lists the user's sessions (`GET /api/account/devices`).
pub async fn list_devices(State(storage): State<Storage>, caller: SignedIn) -> Result<Json<DeviceList>, ApiError> {
    let devices = storage.auth_sessions().list_devices(caller.user).await?.into_iter().map(|device| Device {
        current: device.id == caller.session,
        id: device.id,
        user_agent: device.user_agent,
        created_at: device.created_at,
        last_used_at: device.used_at,
        aal: device.aal,
    });
    Ok(Json(DeviceList { devices: devices.collect() }))
}

/// Ends one session of the user (`DELETE /api/account/devices/{id}`).
pub async fn sign_out_device(
    State(accounts): State<AccountService>,
    caller: SignedIn,
    Named(id): Named,
) -> Result<NoContent, ApiError> {
    let id: AuthSessionId = id.parse().map_err(|_| ApiError::NotFound("device"))?;
    if accounts.sign_out_device(caller.user, id).await? { Ok(NoContent) } else { Err(ApiError::NotFound("device")) }
}

/// The ways in which the user can prove their identity.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProofMethods {
    has_password: bool,
    /// The easiest first.
    methods: Vec<ProofMethod>,
}

/// A proof of identity: either the password or the code from an email.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ProofBody {
    password: Option<String>,
    /// The code that `GET /auth/v1/reauthenticate` sends.
    nonce: Option<String>,
}

/// Lists the ways in which the user can reauthenticate, the easiest first (`GET /api/account/reauthentication`).
pub async fn list_proof_methods(
    State(storage): State<Storage>,
    State(accounts): State<AccountService>,
    caller: SignedIn,
) -> Result<Json<ProofMethods>, ApiError> {
    // The account may have been deleted since the token was verified.
    let user = storage.users().get(caller.user).await?.ok_or(ApiError::Unauthorized)?;
    // Which ways exist depends on the account and on whether the server can send emails.
    let methods = accounts.proof_methods(&user);
    Ok(Json(ProofMethods { has_password: user.password_hash.is_some(), methods }))
}

/// Verifies a proof of identity (`POST /api/account/reauthentication`). The session then counts as recently
/// authenticated.
pub async fn reauthenticate(
    State(accounts): State<AccountService>,
    caller: SignedIn,
    Address(from): Address,
    JsonBody(body): JsonBody<ProofBody>,
) -> Result<NoContent, ApiError> {
    // Counted before the proof is read, so that guessing is limited whatever the body contains.
    accounts.rate_limits().check(RateLimit::Verify, from).await.map_err(auth_error)?;
    let proof = match (body.password, body.nonce) {
        (Some(password), None) => IdentityProof::Password(password),
        // Named as in `PUT /auth/v1/user`, where GoTrue's clients send the same code.
        (None, Some(nonce)) => IdentityProof::EmailedCode(nonce),
        _ => return Err(ApiError::BadRequest("the body must contain either password or nonce".into())),
    };
    accounts.prove_identity(caller.user, caller.session, proof, from).await.map_err(auth_error)?;
    Ok(NoContent)
}

/// Rejects a session whose last proof of identity is too old for changing credentials or deleting the account.
///
/// # Errors
///
/// [`ApiError::NeedsReauthentication`]; [`ApiError::Unauthorized`] if the session has ended.
pub(super) async fn require_recent_proof(accounts: &AccountService, caller: &SignedIn) -> Result<(), ApiError> {
    accounts.require_recent_proof_by_id(caller.user, caller.session).await.map_err(auth_error)
}

/// Maps an error of the auth API to this API's shape.
fn auth_error(error: AuthError) -> ApiError {
    let message = error.to_string();
    match error {
        AuthError::Internal(error) => error.into(),
        AuthError::GoTrue(ACTION_NEEDS_REAUTHENTICATION) => ApiError::NeedsReauthentication,
        // The token was verified, but the session ended since.
        AuthError::GoTrue(SESSION_NOT_FOUND | USER_NOT_FOUND) => ApiError::Unauthorized,
        AuthError::RateLimited { retry_after } => ApiError::TooManyTries { retry_after },
        other => ApiError::Unprocessable { code: other.code(), message },
    }
}

/// Deletes the account and everything that belongs to it (`POST /api/account/delete`).
pub async fn delete_account(
    State(accounts): State<AccountService>,
    State(account_deletion): State<Arc<dyn AccountDeletionHandler>>,
    caller: SignedIn,
    JsonBody(body): JsonBody<DeleteAccount>,
) -> Result<NoContent, ApiError> {
    // A stolen session alone must not be enough to delete an account.
    require_recent_proof(&accounts, &caller).await?;
    accounts.delete_account(caller.user, &body.email, &*account_deletion).await.map_err(|error| match error {
        DeletionError::EmailMismatch => ApiError::Unprocessable { code: "email_mismatch", message: error.to_string() },
        DeletionError::Storage(error) => error.into(),
    })?;
    Ok(NoContent)
}
