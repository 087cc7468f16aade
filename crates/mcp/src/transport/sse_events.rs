//! Server-sent events, each bounded in size.

use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt};
use sse_stream::{Error as SseError, Sse, SseStream};

use super::TransportErrorSlot;
use super::admission::admit;
use super::capability_shim::preserve_task_support;
use crate::Error;

/// Lower bound of the retry time that a server may set; without it a server could have itself polled without pause.
const MIN_RETRY_TIME: Duration = Duration::from_millis(100);

/// Stream of events that ends with its first error.
pub(super) type SseEventStream = BoxStream<'static, Result<Sse, SseError>>;

/// Splits a body into events. An event of more than `limit` bytes ends the stream. The reason of any error is stored in
/// `transport_errors`.
pub(super) fn read_events(
    body: impl Stream<Item = reqwest::Result<Bytes>> + Send + 'static,
    limit: usize,
    transport_errors: TransportErrorSlot,
) -> SseEventStream {
    let mut counter = EventSizeCounter::default();
    let bounded = body.map(move |chunk| {
        let chunk = chunk.map_err(|error| Error::from_http(&error))?;
        if counter.count_chunk(&chunk) > limit { Err(Error::TooLarge(limit)) } else { Ok(chunk) }
    });
    SseStream::from_bytes_stream(bounded)
        .then(move |event| {
            let transport_errors = transport_errors.clone();
            async move {
                let event = prepare_event(event).await;
                event.inspect_err(|error| transport_errors.set(explain_error(error)))
            }
        })
        // After invalid bytes the parser returns an error for every further chunk: end at the first.
        .scan(false, |broken, event| {
            let item = (!*broken).then_some(event);
            *broken |= item.as_ref().is_some_and(Result::is_err);
            std::future::ready(item)
        })
        .boxed()
}

/// Prepares an event for the protocol library, which parses its message at once.
async fn prepare_event(event: Result<Sse, SseError>) -> Result<Sse, SseError> {
    let mut event = event?;
    event.retry = event.retry.map(|retry| retry.max(MIN_RETRY_TIME.as_millis() as u64));
    if let Some(data) = event.data.take() {
        let _admission = admit(&data).await.map_err(|error| SseError::Body(Box::new(error)))?;
        event.data = Some(preserve_task_support(&data).into_owned());
    }
    Ok(event)
}

/// Translates the error of an event stream.
pub(super) fn explain_error(error: &SseError) -> Error {
    match error {
        SseError::Body(inner) => inner.downcast_ref::<Error>().cloned().unwrap_or(Error::Closed),
        SseError::Utf8Parse(_) => Error::Protocol("it sent text that is not UTF-8".to_owned()),
        _ => Error::Protocol("its event stream cannot be read".to_owned()),
    }
}

/// Byte counter since the last empty line, which ends an event.
struct EventSizeCounter {
    bytes: usize,
    line_is_empty: bool,
    /// The last byte was `\r`.
    after_return: bool,
}

impl Default for EventSizeCounter {
    fn default() -> Self {
        Self { bytes: 0, line_is_empty: true, after_return: false }
    }
}

impl EventSizeCounter {
    /// Counts a chunk and returns the size of the largest event that has bytes in it.
    fn count_chunk(&mut self, chunk: &[u8]) -> usize {
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
        let transport_errors = TransportErrorSlot::default();
        let body = stream::iter(chunks.into_iter().map(|chunk| Ok(Bytes::from_static(chunk))));
        let events: Vec<_> = read_events(body, limit, transport_errors.clone()).collect().await;
        (events.into_iter().filter_map(|event| event.ok()?.data).collect(), transport_errors.take())
    }

    #[tokio::test]
    async fn counts_the_size_of_each_event_alone() {
        let (data, transport_errors) =
            read(vec![b"data: 12345\n\ndata: 1", b"2345\n\n", b"data: 12345\r\n\r\ndata: 1\r\r"], 20).await;
        assert_eq!(data, ["12345", "12345", "12345", "1"]);
        assert!(transport_errors.is_none());
    }

    #[tokio::test]
    async fn ends_stream_at_event_over_the_limit() {
        let (data, transport_errors) =
            read(vec![b"data: 1\n\n", b"data: 1234567890", b"1234567890\n\ndata: 2\n\n"], 20).await;
        assert_eq!(data, ["1"]);
        assert!(matches!(transport_errors, Some(Error::TooLarge(20))));
    }

    #[tokio::test]
    async fn ends_stream_at_invalid_utf8() {
        let (data, transport_errors) = read(vec![b"data: 1\n\n", b"data: \xff\xfe\n\ndata: 2\n\n"], 100).await;
        assert_eq!(data, ["1"]);
        assert_eq!(transport_errors.unwrap().to_string(), "violated the protocol: it sent text that is not UTF-8");
    }

    proptest! {
        #[test]
        fn counts_the_same_for_any_chunking(bytes in "[ab\r\n]{0,60}", cut in 0usize..60) {
            let bytes = bytes.as_bytes();
            let cut = cut.min(bytes.len());
                        let whole = EventSizeCounter::default().count_chunk(bytes);
            let mut counter = EventSizeCounter::default();
            let parts = counter.count_chunk(&bytes[..cut]).max(counter.count_chunk(&bytes[cut..]));
            prop_assert_eq!(whole, parts);
        }
    }
}
