//! News for an open page.

use std::iter;

use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream::{self, StreamExt};

use super::error::ApiError;
use super::extract::SignedIn;
use super::sse;
use crate::app::App;
use crate::events::Event;

/// Follows a user's events, as long as their sign-in is open. The first ones tell the state of each turn that goes on. A
/// page that falls too far behind is cut off; it connects again and loads afresh.
pub async fn follow(State(app): State<App>, caller: SignedIn) -> Result<Response, ApiError> {
    let place = sse::place(&app, caller.user)?;
    let receiver = app.events.subscribe(caller.user);
    // Read after the subscription: what changes from here on is among the events that follow.
    let turns = app.runs.list_running(&app, caller.user).await?;
    let stopping = app.tasks.shutdown_token().clone();
    let hello = iter::once(Bytes::from_static(b": hello\n\n"));
    let hello = hello.chain(turns.iter().filter_map(Event::to_json).map(|turn| frame_of(&turn)));
    let hello = stream::iter(hello.collect::<Vec<_>>());
    let events = stream::unfold(Some((receiver, app, caller)), |state| async {
        let (mut receiver, app, caller) = state?;
        let event = receiver.recv().await.ok()?;
        let frame = frame_of(&event);
        let goes_on = *event != *Event::DEVICES || is_open(&app, &caller).await;
        Some((frame, goes_on.then_some((receiver, app, caller))))
    });
    Ok(sse::response_until(hello.chain(events), stopping, place))
}

fn frame_of(event: &str) -> Bytes {
    Bytes::from(format!("data: {event}\n\n"))
}

/// Whether a sign-in still opens this stream. When nobody can say, it does not.
async fn is_open(app: &App, caller: &SignedIn) -> bool {
    let standing = app.store.get_standing(caller.user, caller.session).await;
    matches!(standing, Ok(Some(standing)) if !standing.lacks_factor)
}
