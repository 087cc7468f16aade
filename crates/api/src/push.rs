//! `/api/push`: the browsers that receive push messages.

use agent::push::{PushService, PushTarget, SubscribeError};
use axum::Json;
use axum::extract::State;
use axum::response::NoContent;
use domain::{PushSubscriptionId, Timestamp};
use http_server::error::ApiError;
use http_server::extract::{JsonBody, Named};
use http_server::response::Created;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::signed_in::SignedIn;

/// A browser that receives push messages, shown as a device.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PushDevice")]
struct PushDeviceDto {
    id: PushSubscriptionId,
    /// Whether the request comes from this device.
    current: bool,
    user_agent: Option<String>,
    created_at: Timestamp,
}

/// Key with which a browser subscribes, and the devices that have.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PushState {
    /// Public key of the server (VAPID), in base64url: `applicationServerKey` of the subscription.
    public_key: String,
    /// The caller's devices that receive push messages, newest first.
    devices: Vec<PushDeviceDto>,
}

/// A subscription, as `PushSubscription.toJSON()` of the browser returns it.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct NewPushSubscription {
    /// URL of the browser's push service.
    endpoint: String,
    keys: PushKeys,
}

/// Keys of a browser, in base64url.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct PushKeys {
    /// Public key, an uncompressed point of P-256.
    p256dh: String,
    /// Shared secret of 16 bytes.
    auth: String,
}

/// A new subscription.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CreatedPushSubscription {
    id: PushSubscriptionId,
}

/// Returns the server's key and the caller's devices (`GET /api/push`).
pub async fn get_push(State(push): State<PushService>, caller: SignedIn) -> Result<Json<PushState>, ApiError> {
    let devices = push.list_devices(caller.user).await?.into_iter().map(|device| PushDeviceDto {
        id: device.id,
        current: device.session == caller.session,
        user_agent: device.user_agent,
        created_at: device.created_at,
    });
    Ok(Json(PushState { public_key: push.public_key(), devices: devices.collect() }))
}

/// Subscribes the browser of the caller's session (`POST /api/push/subscriptions`), in place of its earlier
/// subscription.
pub async fn subscribe(
    State(push): State<PushService>,
    caller: SignedIn,
    JsonBody(body): JsonBody<NewPushSubscription>,
) -> Result<Created<CreatedPushSubscription>, ApiError> {
    let endpoint = Url::parse(&body.endpoint);
    let endpoint = endpoint.map_err(|_| ApiError::BadRequest("endpoint must be a URL".into()))?;
    let target = PushTarget { endpoint, p256dh: body.keys.p256dh, auth: body.keys.auth };
    let id = push.subscribe(caller.user, caller.session, &target).await.map_err(|error| {
        let message = error.to_string();
        match error {
            SubscribeError::InvalidTarget => ApiError::BadRequest(message),
            SubscribeError::AddressNotAllowed(_) => ApiError::Unprocessable { code: "address_not_allowed", message },
            SubscribeError::TooMany => ApiError::Conflict { code: "too_many_devices", message },
            SubscribeError::Seal(error) => ApiError::Internal(error.into()),
            SubscribeError::Storage(error) => error.into(),
        }
    })?;
    Ok(Created(CreatedPushSubscription { id }))
}

/// Removes a subscription of the caller (`DELETE /api/push/subscriptions/{id}`).
pub async fn unsubscribe(
    State(push): State<PushService>,
    caller: SignedIn,
    Named(id): Named,
) -> Result<NoContent, ApiError> {
    let id: PushSubscriptionId = id.parse().map_err(|_| ApiError::NotFound("device"))?;
    if !push.unsubscribe(caller.user, id).await? {
        return Err(ApiError::NotFound("device"));
    }
    Ok(NoContent)
}
