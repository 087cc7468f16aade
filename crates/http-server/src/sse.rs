//! Responses of server-sent events: headers that keep proxies from buffering, and comments that keep the connection
//! alive.

use std::task::Poll;
use std::time::Duration;

use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream::{self, Stream, StreamExt};
use serde_json::json;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::openapi::{Operation, OperationOutput};

/// Interval after which a comment is sent if no event was.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

const STILL_HERE: &[u8] = b": still here\n\n";

/// A response that [`response`] or [`response_until`] built.
#[derive(Debug)]
pub struct EventStreamResponse(pub Response);

impl IntoResponse for EventStreamResponse {
    fn into_response(self) -> Response {
        self.0
    }
}

impl OperationOutput for EventStreamResponse {
    fn describe(operation: &mut Operation<'_>) {
        let schema = json!({ "type": "string" });
        operation.add_content(StatusCode::OK, "Server-sent events.", "text/event-stream", schema);
    }
}

/// Builds an event stream response. It ends when `frames` ends; `permit` is held until then.
pub fn response(frames: impl Stream<Item = Bytes> + Send + 'static, permit: impl Send + 'static) -> Response {
    let frames = kept_alive(frames, KEEP_ALIVE).map(move |frame| {
        // Captures the permit, so that it is released when the stream is dropped.
        let _held = &permit;
        Ok::<_, std::convert::Infallible>(frame)
    });
    // nginx buffers responses unless this header forbids it.
    let headers = [
        (header::CONTENT_TYPE.as_str(), "text/event-stream"),
        (header::CACHE_CONTROL.as_str(), "no-store"),
        ("x-accel-buffering", "no"),
    ];
    (headers, Body::from_stream(frames)).into_response()
}

/// Like [`response`], but also ends the stream when the server shuts down.
pub fn response_until(
    frames: impl Stream<Item = Bytes> + Send + 'static,
    stopping: CancellationToken,
    permit: impl Send + 'static,
) -> Response {
    response(frames.take_until(stopping.cancelled_owned()), permit)
}

/// Adds comments to a stream that is silent for `pause`. A frame only records its time, and one timer for the whole
/// stream compares: resetting a timer for each frame would cost more than the frame.
fn kept_alive(
    frames: impl Stream<Item = Bytes> + Send + 'static,
    pause: Duration,
) -> impl Stream<Item = Bytes> + Send + 'static {
    let mut frames = Box::pin(frames);
    let mut timer = Box::pin(sleep(pause));
    let mut last = Instant::now();
    stream::poll_fn(move |context| {
        if let Poll::Ready(frame) = frames.as_mut().poll_next(context) {
            last = Instant::now();
            return Poll::Ready(frame);
        }
        while timer.as_mut().poll(context).is_ready() {
            let is_quiet = last.elapsed() >= pause;
            if is_quiet {
                last = Instant::now();
            }
            // The loop polls the new timer once: a timer that was not polled would not wake this task.
            timer.as_mut().reset(last + pause);
            if is_quiet {
                return Poll::Ready(Some(Bytes::from_static(STILL_HERE)));
            }
        }
        Poll::Pending
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn something_is_said_as_long_as_nothing_is_and_what_is_said_comes_through() {
        let (sender, receiver) = tokio::sync::mpsc::unbounded_channel::<Bytes>();
        let frames = stream::unfold(receiver, |mut receiver| async { Some((receiver.recv().await?, receiver)) });
        let mut heard = Box::pin(kept_alive(frames, Duration::from_millis(5)));
        for text in ["one", "two"] {
            assert_eq!(heard.next().await.unwrap(), STILL_HERE);
            assert_eq!(heard.next().await.unwrap(), STILL_HERE);
            sender.send(text.into()).unwrap();
            let rest = heard.by_ref().skip_while(|frame| std::future::ready(*frame == STILL_HERE));
            assert_eq!(std::pin::pin!(rest).next().await.unwrap(), text);
        }
        drop(sender);
        let rest: Vec<Bytes> = heard.collect().await;
        assert!(rest.iter().all(|frame| *frame == STILL_HERE));
    }
}
