//! `GET /api/events`: the user's event stream, which every open web app follows.

use std::iter;

use agent::turns::TurnService;
use axum::extract::State;
use bytes::Bytes;
use domain::json::to_json_text;
use futures_util::stream::{self, StreamExt};
use http_server::error::ApiError;
use http_server::sse::{self, EventStreamResponse};
use platform::{BackgroundTasks, UserEvent, UserEventBus};
use storage::Storage;

use crate::limiters::StreamLimiter;
use crate::signed_in::SignedIn;

/// Streams the user's events while the session is valid. The first events report the state of each running turn. A
/// subscriber that falls too far behind is disconnected; it reconnects and reloads.
pub async fn stream_events(
    State(streams): State<StreamLimiter>,
    State(events): State<UserEventBus>,
    State(turns): State<TurnService>,
    State(tasks): State<BackgroundTasks>,
    State(storage): State<Storage>,
    caller: SignedIn,
) -> Result<EventStreamResponse, ApiError> {
    let permit = streams.acquire(caller.user)?;
    let receiver = events.subscribe(caller.user);
    // Read after subscribing: a turn that changes in between is reported by an event.
    let turns = turns.list_running(caller.user).await?;
    let stopping = tasks.shutdown_token().clone();
    // A first comment, so that the client sees the connection as open at once.
    let hello = iter::once(Bytes::from_static(b": hello\n\n"));
    let hello = hello.chain(turns.iter().map(|turn| format_frame(&to_json_text(turn))));
    let hello = stream::iter(hello.collect::<Vec<_>>());
    let events = stream::unfold(Some((receiver, storage, caller)), |state| async {
        let (mut receiver, storage, caller) = state?;
        // Ends the stream also for a subscriber that has missed events, which only a reload can make up for.
        let event = receiver.recv().await.ok()?;
        let frame = format_frame(&event);
        // A revoked session is announced by this event, so only then is the database asked.
        let goes_on = *event != *UserEvent::DEVICES_JSON || is_session_valid(&storage, &caller).await;
        Some((frame, goes_on.then_some((receiver, storage, caller))))
    });
    Ok(EventStreamResponse(sse::response_until(hello.chain(events), stopping, permit)))
}

fn format_frame(event: &str) -> Bytes {
    Bytes::from(format!("data: {event}\n\n"))
}

/// Returns whether the caller's session may still receive events. A failed check counts as no.
async fn is_session_valid(storage: &Storage, caller: &SignedIn) -> bool {
    let standing = storage.auth_sessions().get_standing(caller.user, caller.session).await;
    matches!(standing, Ok(Some(standing)) if !standing.lacks_factor)
}
