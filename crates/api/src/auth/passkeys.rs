//! `/passkeys`: sign-in with WebAuthn credentials, and their management.

use accounts::AccountService;
use accounts::gotrue_error::{GoTrueError, PASSKEY_NOT_FOUND};
use accounts::passkeys::{MAX_NAME_BYTES, PendingCeremony};
use accounts::rate_limits::RateLimit;
use axum::Json;
use axum::extract::State;
use axum::response::NoContent;
use domain::{ChallengeId, PasskeyId, Timestamp};
use http_server::extract::{Address, Named, UserAgent};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use storage::passkeys::Passkey;

use super::dto::SessionBody;
use super::error::AuthApiError;
use super::extract::AuthJsonBody;
use super::mfa::NamedCaller;

/// Options for a ceremony, and the challenge that its response has to answer within five minutes.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "PasskeyOptions")]
pub struct OptionsBody {
    challenge_id: ChallengeId,
    /// JSON for `PublicKeyCredential.parseCreationOptionsFromJSON` or `parseRequestOptionsFromJSON`.
    #[schemars(with = "Map<String, Value>")]
    options: Value,
    /// Seconds since 1970.
    expires_at: i64,
}

impl From<PendingCeremony> for OptionsBody {
    fn from(pending: PendingCeremony) -> Self {
        Self { challenge_id: pending.challenge, options: pending.options, expires_at: pending.expires_at }
    }
}

/// The response of an authenticator.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "PasskeyResponse")]
pub struct PasskeyResponseBody {
    #[schemars(required)]
    challenge_id: Option<String>,
    /// JSON of the browser's `PublicKeyCredential`.
    #[schemars(required, with = "Map<String, Value>")]
    credential: Option<Value>,
}

impl PasskeyResponseBody {
    fn into_parts(self) -> Result<(ChallengeId, Value), GoTrueError> {
        let challenge = self.challenge_id.unwrap_or_default();
        if challenge.is_empty() {
            return Err(GoTrueError::validation_failed("challenge_id is required"));
        }
        let credential = self.credential.ok_or(GoTrueError::validation_failed("credential is required"))?;
        let challenge = challenge.parse();
        let challenge = challenge.map_err(|_| GoTrueError::validation_failed("challenge_id must be a valid UUID"))?;
        Ok((challenge, credential))
    }
}

/// A new passkey.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "NewPasskey")]
pub struct NewPasskeyBody {
    id: PasskeyId,
    friendly_name: String,
    created_at: Timestamp,
}

/// A passkey of the caller.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Passkey")]
pub struct PasskeyBody {
    id: PasskeyId,
    friendly_name: String,
    created_at: Timestamp,
    /// Time of the last sign-in with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_used_at: Option<Timestamp>,
}

impl From<Passkey> for PasskeyBody {
    fn from(passkey: Passkey) -> Self {
        Self {
            id: passkey.id,
            friendly_name: passkey.friendly_name,
            created_at: passkey.created_at,
            last_used_at: passkey.last_used_at,
        }
    }
}

/// A new name of a passkey.
#[derive(Deserialize, JsonSchema)]
pub struct RenamePasskeyBody {
    #[schemars(required, length(min = 1, max = MAX_NAME_BYTES))]
    friendly_name: Option<String>,
}

/// Begins the registration of a passkey (`POST /passkeys/registration/options`).
pub async fn begin_registration(
    State(accounts): State<AccountService>,
    person: NamedCaller,
) -> Result<Json<OptionsBody>, AuthApiError> {
    Ok(Json(accounts.begin_passkey_registration(person.claims, &person.user).await?.into()))
}

/// Completes the registration of a passkey (`POST /passkeys/registration/verify`).
pub async fn finish_registration(
    State(accounts): State<AccountService>,
    person: NamedCaller,
    AuthJsonBody(body): AuthJsonBody<PasskeyResponseBody>,
) -> Result<Json<NewPasskeyBody>, AuthApiError> {
    let (challenge, credential) = body.into_parts()?;
    let passkey = accounts.finish_passkey_registration(person.claims, &person.user, challenge, credential).await?;
    Ok(Json(NewPasskeyBody { id: passkey.id, friendly_name: passkey.friendly_name, created_at: passkey.created_at }))
}

/// Begins a sign-in with a passkey (`POST /passkeys/authentication/options`).
pub async fn begin_sign_in(
    State(accounts): State<AccountService>,
    Address(address): Address,
) -> Result<Json<OptionsBody>, AuthApiError> {
    accounts.rate_limits().check(RateLimit::Passkey, address).await?;
    Ok(Json(accounts.begin_passkey_sign_in().await?.into()))
}

/// Completes a sign-in with a passkey (`POST /passkeys/authentication/verify`).
pub async fn finish_sign_in(
    State(accounts): State<AccountService>,
    Address(address): Address,
    UserAgent(user_agent): UserAgent,
    AuthJsonBody(body): AuthJsonBody<PasskeyResponseBody>,
) -> Result<Json<SessionBody>, AuthApiError> {
    let (challenge, credential) = body.into_parts()?;
    Ok(Json(accounts.finish_passkey_sign_in(challenge, credential, address, user_agent).await?.into()))
}

/// Lists the caller's passkeys (`GET /passkeys`).
pub async fn list_passkeys(
    State(accounts): State<AccountService>,
    person: NamedCaller,
) -> Result<Json<Vec<PasskeyBody>>, AuthApiError> {
    let passkeys = accounts.list_own_passkeys(person.claims).await?;
    Ok(Json(passkeys.into_iter().map(PasskeyBody::from).collect()))
}

/// Renames a passkey (`PATCH /passkeys/{id}`).
pub async fn rename_passkey(
    State(accounts): State<AccountService>,
    person: NamedCaller,
    Named(id): Named,
    AuthJsonBody(body): AuthJsonBody<RenamePasskeyBody>,
) -> Result<Json<PasskeyBody>, AuthApiError> {
    let id = parse_id(&id)?;
    let name = body.friendly_name.unwrap_or_default();
    Ok(Json(accounts.rename_passkey(person.claims, id, name).await?.into()))
}

/// Deletes a passkey (`DELETE /passkeys/{id}`).
pub async fn delete_passkey(
    State(accounts): State<AccountService>,
    person: NamedCaller,
    Named(id): Named,
) -> Result<NoContent, AuthApiError> {
    accounts.delete_passkey(person.claims, &person.user, parse_id(&id)?).await?;
    Ok(NoContent)
}

/// Parses the id of a passkey. One that is no UUID belongs to no passkey.
pub fn parse_id(text: &str) -> Result<PasskeyId, GoTrueError> {
    text.parse().map_err(|_| PASSKEY_NOT_FOUND)
}
