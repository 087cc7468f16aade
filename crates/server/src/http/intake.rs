//! What the bodies of requests may cost: the time that they take, and the memory of all of them together.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use hyper::body::Frame;
use tokio::time::{Instant, Sleep, sleep_until};

use super::error::ApiError;

/// How long the next piece of a body may take.
const SILENCE: Duration = Duration::from_secs(15);
/// Bytes that have to come in a second, on average, once the first [`SILENCE`] is over: less than any line carries.
const PACE: u64 = 1_024;

/// The bodies that are being received.
#[derive(Debug, Clone)]
pub struct Intake {
    held: Arc<AtomicUsize>,
    most: usize,
}

impl Intake {
    /// At most so many bytes together.
    pub fn new(most: usize) -> Self {
        Self { held: Arc::default(), most }
    }
}

/// Receives the body of a request within these bounds. Who is cut off for the sake of all others is told to come back.
pub async fn bound(State(intake): State<Intake>, request: Request, next: Next) -> Response {
    if request.body().is_end_stream() {
        return next.run(request).await;
    }
    let refused = Arc::new(AtomicBool::new(false));
    let (head, body) = request.into_parts();
    let now = Instant::now();
    let body = Bounded {
        body,
        intake,
        taken: 0,
        began: now,
        pause: Box::pin(sleep_until(now + SILENCE)),
        refused: Arc::clone(&refused),
    };
    let response = next.run(Request::from_parts(head, Body::new(body))).await;
    if refused.load(Ordering::Acquire) { ApiError::Overloaded.into_response() } else { response }
}

/// Why a body is not received to its end.
#[derive(Debug, thiserror::Error)]
enum Cut {
    #[error("nothing came for too long, or too little")]
    TooSlow,
    #[error("too much is being received at once")]
    Overloaded,
    #[error("it broke off")]
    Broken(#[source] axum::Error),
}

struct Bounded {
    body: Body,
    intake: Intake,
    taken: usize,
    began: Instant,
    pause: Pin<Box<Sleep>>,
    refused: Arc<AtomicBool>,
}

impl HttpBody for Bounded {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        let Poll::Ready(next) = Pin::new(&mut self.body).poll_frame(context) else {
            ready!(self.pause.as_mut().poll(context));
            return Poll::Ready(Some(Err(Cut::TooSlow)));
        };
        let frame = match next {
            None => return Poll::Ready(None),
            Some(Err(error)) => return Poll::Ready(Some(Err(Cut::Broken(error)))),
            Some(Ok(frame)) => frame,
        };
        let length = frame.data_ref().map_or(0, Bytes::len);
        self.taken += length;
        if self.intake.held.fetch_add(length, Ordering::AcqRel) + length > self.intake.most {
            self.refused.store(true, Ordering::Release);
            return Poll::Ready(Some(Err(Cut::Overloaded)));
        }
        let latest = self.began + SILENCE + Duration::from_secs(self.taken as u64 / PACE);
        let due = latest.min(Instant::now() + SILENCE);
        self.pause.as_mut().reset(due);
        Poll::Ready(Some(Ok(frame)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Bounded {
    fn drop(&mut self) {
        self.intake.held.fetch_sub(self.taken, Ordering::AcqRel);
    }
}
