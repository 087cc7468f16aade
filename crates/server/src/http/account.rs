//! `/api/account`: where a person is signed in, and the end of it.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use domain::{AuthSessionId, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::error::ApiError;
use super::extract::{JsonBody, Named, SignedIn};
use crate::app::App;
use crate::auth::deletion::DeleteError;
use crate::events::Event;

/// One sign-in.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Device {
    id: AuthSessionId,
    current: bool,
    user_agent: Option<String>,
    created_at: Timestamp,
    last_used_at: Timestamp,
    aal: String,
}

/// Which account the person means to delete.
#[derive(Debug, Deserialize)]
pub struct Delete {
    email: String,
}

/// `GET /api/account/devices`
pub async fn devices(State(app): State<App>, caller: SignedIn) -> Result<Json<Value>, ApiError> {
    let devices = app.store.list_devices(caller.user).await?.into_iter().map(|device| Device {
        current: device.id == caller.session,
        id: device.id,
        user_agent: device.user_agent,
        created_at: device.created_at,
        last_used_at: device.used_at,
        aal: device.aal,
    });
    Ok(Json(json!({ "devices": devices.collect::<Vec<_>>() })))
}

/// `DELETE /api/account/devices/{id}`
pub async fn end_device(State(app): State<App>, caller: SignedIn, Named(id): Named) -> Result<StatusCode, ApiError> {
    let id: AuthSessionId = id.parse().map_err(|_| ApiError::NotFound("device"))?;
    if !app.store.delete_auth_session(caller.user, id).await? {
        return Err(ApiError::NotFound("device"));
    }
    app.events.publish(caller.user, &Event::Devices);
    Ok(StatusCode::NO_CONTENT)
}

/// `POST /api/account/delete`
pub async fn delete(
    State(app): State<App>,
    caller: SignedIn,
    JsonBody(body): JsonBody<Delete>,
) -> Result<StatusCode, ApiError> {
    app.auth.delete_account(&app, caller.user, &body.email).await.map_err(|error| match error {
        DeleteError::AnotherAddress => ApiError::Unprocessable { code: "email_mismatch", message: error.to_string() },
        DeleteError::Store(error) => error.into(),
    })?;
    Ok(StatusCode::NO_CONTENT)
}
