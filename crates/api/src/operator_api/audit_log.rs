//! `/admin/api/audit-events`: the audit log of all accounts.

use axum::Json;
use axum::extract::State;
use domain::{Timestamp, UserId};
use http_server::error::ApiError;
use http_server::extract::Query;
use serde::{Deserialize, Serialize};
use storage::Storage;
use storage::audit_events::{AddressedAuditEvent, AuditEvent, AuditEventFilter};
use uuid::Uuid;

use super::find_user;

/// Number of events in a response.
const EVENTS_PER_PAGE: usize = 50;

/// The events that are wanted. Empty values count as left out.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct AuditLogQuery {
    /// Email address or id of an account. Deleted accounts are found by their id.
    user: String,
    /// Kind of the event, such as `sign_in`.
    kind: String,
    /// Id of an event: only earlier ones are returned.
    before: String,
}

/// An event.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct EventDto {
    id: Uuid,
    created_at: Timestamp,
    kind: String,
    /// Who caused it: `user`, `admin` or `system`.
    actor: String,
    user: Option<UserId>,
    /// Present email address of the account.
    email: Option<String>,
    client_address: Option<String>,
    user_agent: Option<String>,
}

impl From<AddressedAuditEvent> for EventDto {
    fn from(AddressedAuditEvent { event, email }: AddressedAuditEvent) -> Self {
        let AuditEvent { id, user, actor, kind, client_address, user_agent, created_at, .. } = event;
        Self { id, created_at, kind, actor, user, email, client_address, user_agent }
    }
}

/// A page of events, newest first.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EventPage {
    events: Vec<EventDto>,
    /// Whether there are earlier events.
    has_more: bool,
}

/// Lists events of all accounts or of one, newest first (`GET /audit-events?user=…&kind=…&before=…`).
pub async fn list_events(
    State(storage): State<Storage>,
    Query(AuditLogQuery { user, kind, before }): Query<AuditLogQuery>,
) -> Result<Json<EventPage>, ApiError> {
    let before = Some(before).filter(|before| !before.is_empty()).map(|before| before.parse::<Uuid>()).transpose();
    let filter = AuditEventFilter {
        user: if user.trim().is_empty() { None } else { Some(find_user(&storage, &user).await?) },
        kind: Some(kind.as_str()).filter(|kind| !kind.is_empty()),
        before: before.map_err(|_| ApiError::BadRequest("before is not the id of an event".into()))?,
    };
    // One more, which tells whether there are more.
    let mut events = storage.audit_events().list_newest(filter, EVENTS_PER_PAGE as i64 + 1).await?;
    let has_more = events.len() > EVENTS_PER_PAGE;
    events.truncate(EVENTS_PER_PAGE);
    Ok(Json(EventPage { events: events.into_iter().map(EventDto::from).collect(), has_more }))
}
