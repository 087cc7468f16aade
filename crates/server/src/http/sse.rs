//! Server-sent events: the headers that keep proxies from holding them back, and a comment now and then that keeps the
//! connection alive.

use std::time::Duration;

use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use domain::UserId;
use futures_util::stream::{self, Stream, StreamExt};
use tokio_util::sync::CancellationToken;

use super::error::ApiError;
use crate::app::App;
use crate::places::{Full, Place};

/// How often something is sent although nothing happens.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// A place for one more stream of a person.
pub fn place(app: &App, user: UserId) -> Result<Place, ApiError> {
    app.streams.take(user).map_err(|full| match full {
        Full::Own => {
            let message = "too many windows and devices follow your chats at once; close some of them".to_owned();
            ApiError::TooMany { code: "too_many_streams", message }
        }
        Full::All => ApiError::Overloaded,
    })
}

/// An answer of server-sent events. It ends when `frames` end or the server stops, and keeps what holds its place until
/// then.
pub fn response(
    frames: impl Stream<Item = Bytes> + Send + 'static,
    stopping: CancellationToken,
    place: impl Send + 'static,
) -> Response {
    let frames = Box::pin(frames.take_until(stopping.cancelled_owned()));
    let kept_alive = stream::unfold((frames, place), |(mut frames, place)| async {
        let frame = match tokio::time::timeout(KEEP_ALIVE, frames.next()).await {
            Ok(frame) => frame?,
            Err(_) => Bytes::from_static(b": still here\n\n"),
        };
        Some((frame, (frames, place)))
    });
    let headers = [
        (header::CONTENT_TYPE.as_str(), "text/event-stream"),
        (header::CACHE_CONTROL.as_str(), "no-store"),
        ("x-accel-buffering", "no"),
    ];
    (headers, Body::from_stream(kept_alive.map(Ok::<_, std::convert::Infallible>))).into_response()
}
