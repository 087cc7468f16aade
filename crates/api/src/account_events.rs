//! `/api/account/events`: the user's view of the audit log.

use axum::Json;
use axum::extract::State;
use domain::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use storage::Storage;
use storage::audit_events::AuditEvent;
use uuid::Uuid;

use crate::signed_in::SignedIn;
use http_server::error::ApiError;
use http_server::extract::Query;

/// Number of events in a response.
const EVENTS_PER_PAGE: i64 = 50;

/// The part of the log to return.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct EventQuery {
    /// Id of an event: only earlier ones are returned.
    before: Option<String>,
}

/// Something that happened to the user's account.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AccountEvent {
    id: Uuid,
    /// What happened, such as `sign_in`.
    kind: String,
    /// Who caused it: `user`, `admin` or `system`.
    actor: String,
    /// Network address of the client, where it is known.
    client_address: Option<String>,
    /// User agent of the client, where it is known.
    user_agent: Option<String>,
    created_at: Timestamp,
}

impl From<AuditEvent> for AccountEvent {
    fn from(event: AuditEvent) -> Self {
        let AuditEvent { id, kind, actor, client_address, user_agent, created_at, .. } = event;
        Self { id, kind, actor, client_address, user_agent, created_at }
    }
}

/// Events of the user's account, newest first.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AccountEventList {
    events: Vec<AccountEvent>,
}

/// Lists the user's events (`GET /api/account/events`).
pub async fn list_events(
    State(storage): State<Storage>,
    caller: SignedIn,
    Query(query): Query<EventQuery>,
) -> Result<Json<AccountEventList>, ApiError> {
    let before = query.before.filter(|before| !before.is_empty()).map(|before| before.parse::<Uuid>());
    let before = before.transpose().map_err(|_| ApiError::BadRequest("before is not the id of an event".into()))?;
    let events = storage.audit_events().list_of_user(caller.user, before, EVENTS_PER_PAGE).await?;
    Ok(Json(AccountEventList { events: events.into_iter().map(AccountEvent::from).collect() }))
}
