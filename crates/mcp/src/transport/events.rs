//! Server-sent events, with a bound on each.

use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt};
use sse_stream::{Error as SseError, Sse, SseStream};

use super::Fault;
use super::kept::keep;
use crate::Error;

/// A server may ask to be polled, but not as fast as the network allows.
const LEAST_RETRY: Duration = Duration::from_millis(100);

pub(super) type Events = BoxStream<'static, Result<Sse, SseError>>;

/// Splits a body into events. An event of more than `limit` bytes ends the stream; why any stream broke is left in
/// `fault`.
pub(super) fn events(
    body: impl Stream<Item = reqwest::Result<Bytes>> + Send + 'static,
    limit: usize,
    fault: Fault,
) -> Events {
    let mut gauge = Gauge { bytes: 0, line_is_empty: true, after_return: false };
    let bounded = body.map(move |chunk| {
        let chunk = chunk.map_err(|error| Error::from_http(&error))?;
        if gauge.largest_after(&chunk) > limit { Err(Error::TooLarge(limit)) } else { Ok(chunk) }
    });
    SseStream::from_bytes_stream(bounded)
        .map(move |event| {
            let mut event = event.inspect_err(|error| fault.set(reason(error)))?;
            event.retry = event.retry.map(|retry| retry.max(LEAST_RETRY.as_millis() as u64));
            event.data = event.data.map(|data| keep(&data).into_owned());
            Ok(event)
        })
        // The parser gives one error after the other for what follows a broken stretch; the first ends it.
        .scan(false, |broken, event| {
            let item = (!*broken).then_some(event);
            *broken |= item.as_ref().is_some_and(Result::is_err);
            std::future::ready(item)
        })
        .boxed()
}

/// Why an event stream broke.
pub(super) fn reason(error: &SseError) -> Error {
    match error {
        SseError::Body(inner) => inner.downcast_ref::<Error>().cloned().unwrap_or(Error::Closed),
        SseError::Utf8Parse(_) => Error::Protocol("it sent text that is not UTF-8".to_owned()),
        _ => Error::Protocol("its event stream cannot be read".to_owned()),
    }
}

/// Counts the bytes since the last empty line, which is what ends an event.
struct Gauge {
    bytes: usize,
    line_is_empty: bool,
    after_return: bool,
}

impl Gauge {
    /// The size of the largest event so far within `chunk`, counting what came before it.
    fn largest_after(&mut self, chunk: &[u8]) -> usize {
        let mut largest = 0;
        for &byte in chunk {
            self.bytes += 1;
            largest = largest.max(self.bytes);
            let line_end = byte == b'\r' || byte == b'\n';
            // "\r\n" is one line end.
            let second_half = byte == b'\n' && self.after_return;
            if line_end && !second_half {
                if self.line_is_empty {
                    self.bytes = 0;
                }
                self.line_is_empty = true;
            } else if !line_end {
                self.line_is_empty = false;
            }
            self.after_return = byte == b'\r';
        }
        largest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::stream;
    use proptest::prelude::*;

    async fn read(chunks: Vec<&'static [u8]>, limit: usize) -> (Vec<String>, Option<Error>) {
        let fault = Fault::default();
        let body = stream::iter(chunks.into_iter().map(|chunk| Ok(Bytes::from_static(chunk))));
        let events: Vec<_> = events(body, limit, fault.clone()).collect().await;
        (events.into_iter().filter_map(|event| event.ok()?.data).collect(), fault.take())
    }

    #[tokio::test]
    async fn many_small_events_are_no_large_one() {
        let (data, fault) =
            read(vec![b"data: 12345\n\ndata: 1", b"2345\n\n", b"data: 12345\r\n\r\ndata: 1\r\r"], 20).await;
        assert_eq!(data, ["12345", "12345", "12345", "1"]);
        assert!(fault.is_none());
    }

    #[tokio::test]
    async fn an_event_over_the_limit_ends_the_stream() {
        let (data, fault) = read(vec![b"data: 1\n\n", b"data: 1234567890", b"1234567890\n\ndata: 2\n\n"], 20).await;
        assert_eq!(data, ["1"]);
        assert!(matches!(fault, Some(Error::TooLarge(20))));
    }

    #[tokio::test]
    async fn text_that_is_not_utf8_ends_the_stream() {
        let (data, fault) = read(vec![b"data: 1\n\n", b"data: \xff\xfe\n\ndata: 2\n\n"], 100).await;
        assert_eq!(data, ["1"]);
        assert_eq!(fault.unwrap().to_string(), "broke the protocol: it sent text that is not UTF-8");
    }

    proptest! {
        /// Where the network cuts the bytes makes no difference to what counts as an event.
        #[test]
        fn cuts_do_not_matter(bytes in "[ab\r\n]{0,60}", cut in 0usize..60) {
            let bytes = bytes.as_bytes();
            let cut = cut.min(bytes.len());
            let fresh = || Gauge { bytes: 0, line_is_empty: true, after_return: false };
            let whole = fresh().largest_after(bytes);
            let mut gauge = fresh();
            let parts = gauge.largest_after(&bytes[..cut]).max(gauge.largest_after(&bytes[cut..]));
            prop_assert_eq!(whole, parts);
        }
    }
}
