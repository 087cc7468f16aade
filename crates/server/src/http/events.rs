//! News for an open page.

use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream::{self, StreamExt};

use super::extract::SignedIn;
use super::sse;
use crate::app::App;

/// Follows a person's events. A page that falls too far behind is cut off; it connects again and loads afresh.
pub async fn follow(State(app): State<App>, caller: SignedIn) -> Response {
    let receiver = app.events.subscribe(caller.user);
    let hello = stream::once(async { Bytes::from_static(b": hello\n\n") });
    let events = stream::unfold(receiver, |mut receiver| async {
        let event = receiver.recv().await.ok()?;
        Some((Bytes::from(format!("data: {event}\n\n")), receiver))
    });
    sse::response(hello.chain(events), app.tasks.stopping().clone())
}
