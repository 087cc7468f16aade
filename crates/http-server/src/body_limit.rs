//! Limits on request bodies: a minimum rate for each body, and the memory of all bodies in total and per network
//! address.

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use hyper::body::Frame;
use platform::client_address::subscriber_network;
use platform::{ConcurrencyLimiter, Limit, LimitReached, Permit};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::error::ApiError;
use crate::extract::{TrustedProxies, address_of_request};

/// Period in which [`MIN_WINDOW_BYTES`] or the end of the body must arrive.
const WINDOW_TIME: Duration = Duration::from_secs(15);
/// Minimum number of bytes in each [`WINDOW_TIME`]: 1 KiB per second, slower than any usable network.
const MIN_WINDOW_BYTES: usize = 15 * 1_024;

/// Limiter of the bytes of all request bodies in memory, per network address and in total.
#[derive(Debug, Clone)]
pub struct BodyLimiter {
    held: ConcurrencyLimiter<IpAddr>,
    trusted_proxies: TrustedProxies,
}

impl BodyLimiter {
    /// Creates the limiter. `limit` is in bytes.
    pub fn new(limit: Limit, trusted_proxies: TrustedProxies) -> Self {
        Self { held: ConcurrencyLimiter::new(limit), trusted_proxies }
    }
}

/// Middleware that receives the request body within the limits. If a limit was reached, the response asks the client
/// to retry later, whatever the handler made of the failed body.
pub async fn limit_body(State(limiter): State<BodyLimiter>, request: Request, next: Next) -> Response {
    // Most requests have no body and pay nothing for the limiter.
    if request.body().is_end_stream() {
        return next.run(request).await;
    }
    let address = address_of_request(request.extensions(), request.headers(), &limiter.trusted_proxies.0);
    // Handlers report every failed body as a broken one, so the reason bypasses them.
    let refused = Arc::new(OnceLock::new());
    let (head, body) = request.into_parts();
    // The permit is empty at first and grows with the received bytes.
    // By subscriber rather than address: one subscriber has a whole network of IPv6 addresses.
    let body = BoundedBody::new(body, limiter.held.reserve(subscriber_network(address)), Arc::clone(&refused));
    let response = next.run(Request::from_parts(head, Body::new(body))).await;
    match refused.get() {
        None => response,
        Some(LimitReached::Global) => ApiError::Overloaded.into_response(),
        Some(LimitReached::User) => {
            let message = "too much is being received from your network address at once; try again soon".to_owned();
            ApiError::TooMany { code: "too_many_bodies", message }.into_response()
        }
    }
}

/// Causes for an incomplete request body.
#[derive(Debug, thiserror::Error)]
enum BodyCut {
    #[error("the request body arrived too slowly")]
    TooSlow,
    #[error("too much data is being received at once")]
    Overloaded,
    #[error("the request body is incomplete")]
    Broken(#[source] axum::Error),
}

/// A request body that counts its bytes against the [`BodyLimiter`] limits and its rate against [`WINDOW_TIME`].
struct BoundedBody {
    body: Body,
    held: Permit<IpAddr>,
    /// The limit that was reached, for [`limit_body`] to read after the handler has returned.
    refused: Arc<OnceLock<LimitReached>>,
    /// Bytes received in the current window.
    window_bytes: usize,
    window_end: Pin<Box<Sleep>>,
}

impl BoundedBody {
    fn new(body: Body, held: Permit<IpAddr>, refused: Arc<OnceLock<LimitReached>>) -> Self {
        let window_end = Box::pin(sleep_until(Instant::now() + WINDOW_TIME));
        Self { body, held, refused, window_bytes: 0, window_end }
    }

    /// Counts received bytes and starts the next window when the current one has enough. A surplus is not carried
    /// over: a client that sends a burst and then a trickle would otherwise occupy the memory of the burst for a long
    /// time.
    fn count(&mut self, length: usize) {
        self.window_bytes += length;
        if self.window_bytes >= MIN_WINDOW_BYTES {
            self.window_bytes = 0;
            self.window_end.as_mut().reset(Instant::now() + WINDOW_TIME);
        }
    }
}

impl HttpBody for BoundedBody {
    type Data = Bytes;
    type Error = BodyCut;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyCut>>> {
        let Poll::Ready(next) = Pin::new(&mut self.body).poll_frame(context) else {
            ready!(self.window_end.as_mut().poll(context));
            return Poll::Ready(Some(Err(BodyCut::TooSlow)));
        };
        let frame = match next {
            None => return Poll::Ready(None),
            Some(Err(error)) => return Poll::Ready(Some(Err(BodyCut::Broken(error)))),
            Some(Ok(frame)) => frame,
        };
        let length = frame.data_ref().map_or(0, Bytes::len);
        if let Err(full) = self.held.grow(length) {
            // Only the first limit is reported.
            let _ = self.refused.set(full);
            return Poll::Ready(Some(Err(BodyCut::Overloaded)));
        }
        // Received data is counted before the timer is checked: a client must not pay for a server that was too busy
        // to poll.
        self.count(length);
        Poll::Ready(Some(Ok(frame)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::stream;
    use http_body_util::BodyExt;
    use tokio::time::sleep;

    use super::*;

    /// Builds a body of these chunks, each sent the given seconds after the previous one.
    fn body_of(pieces: impl IntoIterator<Item = (u64, usize)>) -> BoundedBody {
        let pieces: Vec<_> = pieces.into_iter().collect();
        let frames = stream::unfold(pieces.into_iter(), |mut pieces| async move {
            let (seconds, length) = pieces.next()?;
            sleep(Duration::from_secs(seconds)).await;
            Some((Ok::<_, std::convert::Infallible>(Bytes::from(vec![b' '; length])), pieces))
        });
        let limit = Limit { per_user: usize::MAX, total: usize::MAX };
        BoundedBody::new(
            Body::from_stream(frames),
            ConcurrencyLimiter::new(limit).reserve([127, 0, 0, 1].into()),
            Arc::default(),
        )
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_is_no_credit_for_a_trickle_after_it() {
        let began = Instant::now();
        let burst_then_trickle = std::iter::once((0, 1024 * 1024)).chain(std::iter::repeat_n((5, 1), 1_000));
        let cut = body_of(burst_then_trickle).collect().await.unwrap_err();
        assert!(matches!(cut, BodyCut::TooSlow), "{cut}");
        assert!(began.elapsed() <= 2 * WINDOW_TIME, "{:?}", began.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_line_and_a_short_pause_are_received() {
        // 10 MiB over an hour and a half, and a body that pauses once for less than a window.
        let slow = body_of(std::iter::repeat_n((1, 2 * 1024), 5 * 1024)).collect().await.unwrap();
        assert_eq!(slow.to_bytes().len(), 10 * 1024 * 1024);
        let pause = body_of([(0, 500_000), (14, 1), (0, 500_000), (14, 2)]).collect().await.unwrap();
        assert_eq!(pause.to_bytes().len(), 1_000_003);
    }
}
