//! `GET /api/events`: the user's event stream, which every open web app follows.

use std::iter;
use std::sync::Arc;
use std::time::Duration;

use accounts::AccountService;
use agent::turns::TurnService;
use axum::extract::State;
use bytes::Bytes;
use domain::json::to_json_text;
use futures_util::stream::{self, Stream, StreamExt};
use http_server::error::ApiError;
use http_server::sse::{self, EventStreamResponse};
use platform::{BackgroundTasks, UserEvent, UserEventBus};
use tokio::sync::broadcast::Receiver;
use tokio::time::MissedTickBehavior;

use crate::limiters::StreamLimiter;
use crate::signed_in::SignedIn;

/// Interval at which an open stream checks that its session is still valid.
const SESSION_CHECK_INTERVAL: Duration = Duration::from_mins(1);

/// Streams the user's events while the session is valid. The first events report the state of each running turn. A
/// subscriber that falls too far behind is disconnected; it reconnects and reloads.
pub async fn stream_events(
    State(streams): State<StreamLimiter>,
    State(events): State<UserEventBus>,
    State(turns): State<TurnService>,
    State(tasks): State<BackgroundTasks>,
    State(accounts): State<AccountService>,
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
    let events = follow(receiver, move || {
        let accounts = accounts.clone();
        // A failed check counts as the end of the session.
        async move { accounts.is_session_valid(caller.user, caller.session).await.unwrap_or(false) }
    });
    Ok(EventStreamResponse(sse::response_until(hello.chain(events), stopping, permit)))
}

/// Streams events until `is_valid` says that the session has ended. It is asked at the event that announces ends of
/// sessions, and regularly: a session may end by its age, and an announcement may be lost.
fn follow<F, V>(receiver: Receiver<Arc<str>>, is_valid: F) -> impl Stream<Item = Bytes>
where
    F: Fn() -> V,
    V: Future<Output = bool>,
{
    let mut checks = tokio::time::interval(SESSION_CHECK_INTERVAL);
    checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // The first tick is immediate, and the session was just checked.
    checks.reset();
    stream::unfold(Some((receiver, checks, is_valid)), |state| async move {
        let (mut receiver, mut checks, is_valid) = state?;
        loop {
            tokio::select! {
                // Ends the stream also for a subscriber that has missed events, which only a reload can make up for.
                event = receiver.recv() => {
                    let event = event.ok()?;
                    let goes_on = *event != *UserEvent::DEVICES_JSON || is_valid().await;
                    return Some((format_frame(&event), goes_on.then_some((receiver, checks, is_valid))));
                }
                _ = checks.tick() => if !is_valid().await { return None },
            }
        }
    })
}

fn format_frame(event: &str) -> Bytes {
    Bytes::from(format!("data: {event}\n\n"))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn ends_with_the_session_whether_or_not_an_event_announces_it() {
        for is_announced in [true, false] {
            let is_valid = Arc::new(AtomicBool::new(true));
            let (sender, receiver) = tokio::sync::broadcast::channel::<Arc<str>>(8);
            let session = Arc::clone(&is_valid);
            let mut events = Box::pin(follow(receiver, move || {
                let is_valid = session.load(Ordering::Relaxed);
                async move { is_valid }
            }));
            sender.send(UserEvent::DEVICES_JSON.into()).unwrap();
            assert!(events.next().await.is_some());
            // The next check finds a valid session, and the stream goes on.
            let waited = tokio::time::timeout(SESSION_CHECK_INTERVAL * 3, events.next()).await;
            assert!(waited.is_err(), "it has not ended");
            is_valid.store(false, Ordering::Relaxed);
            if is_announced {
                sender.send(UserEvent::DEVICES_JSON.into()).unwrap();
                assert!(events.next().await.is_some(), "the event itself arrives");
            }
            let ended = tokio::time::timeout(SESSION_CHECK_INTERVAL * 2, events.next()).await;
            assert_eq!(ended, Ok(None), "{is_announced}");
        }
    }
}
