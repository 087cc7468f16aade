//! Server-sent events: the headers that keep proxies from holding them back, and a comment now and then that keeps the
//! connection alive.

use std::time::Duration;

use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream::{self, Stream, StreamExt};
use tokio_util::sync::CancellationToken;

/// How often something is sent although nothing happens.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// An answer of server-sent events. It ends when `frames` end or the server stops.
pub fn response(frames: impl Stream<Item = Bytes> + Send + 'static, stopping: CancellationToken) -> Response {
    let frames = Box::pin(frames.take_until(stopping.cancelled_owned()));
    let kept_alive = stream::unfold(Some(frames), |frames| async {
        let mut frames = frames?;
        match tokio::time::timeout(KEEP_ALIVE, frames.next()).await {
            Ok(Some(frame)) => Some((frame, Some(frames))),
            Ok(None) => None,
            Err(_) => Some((Bytes::from_static(b": still here\n\n"), Some(frames))),
        }
    });
    let headers = [
        (header::CONTENT_TYPE.as_str(), "text/event-stream"),
        (header::CACHE_CONTROL.as_str(), "no-store"),
        ("x-accel-buffering", "no"),
    ];
    (headers, Body::from_stream(kept_alive.map(Ok::<_, std::convert::Infallible>))).into_response()
}
