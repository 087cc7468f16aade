//! Parser for server-sent events.
//!
//! It accepts what real servers send: every kind of line end, fields without a colon, and a last event without its
//! empty line. It rejects only events larger than [`MAX_EVENT_BYTES`].
//!
//! The parser is pushed instead of polled, because decoders do no I/O. The crate `sse-stream`, which parses the streams of
//! MCP servers, ends with an error at what providers send: the `error:` field of llama.cpp, other unknown fields, fields
//! without a colon, and bytes that are not UTF-8. It also drops a last event without its empty line.

use domain::model::ModelError;

/// Maximum size of one event in bytes, far above the largest that a model sends (a tool call's arguments in one event).
const MAX_EVENT_BYTES: usize = 16 * 1024 * 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// A server-sent event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SseEvent<'a> {
    /// Value of the `event` field; empty when absent.
    pub name: &'a str,
    /// Values of the `data` fields, joined by line feeds.
    pub data: &'a str,
}

/// Parser that assembles [`SseEvent`]s from bytes that may be cut anywhere.
#[derive(Debug, Default)]
pub struct SseParser {
    line: Vec<u8>,
    name: String,
    data: Vec<u8>,
    has_data: bool,
    after_carriage_return: bool,
    started: bool,
}

impl SseParser {
    /// Parses the next bytes and calls `each` for every event they complete. Stops at the first error of `each`.
    ///
    /// # Errors
    /// Returns [`ModelError::Malformed`] for an event larger than [`MAX_EVENT_BYTES`], and any error of `each`.
    pub fn push<F>(&mut self, mut bytes: &[u8], mut each: F) -> Result<(), ModelError>
    where
        F: FnMut(SseEvent<'_>) -> Result<(), ModelError>,
    {
        while !bytes.is_empty() {
            // The line feed of a CRLF may arrive with the next piece; it must not count as an empty line.
            if std::mem::take(&mut self.after_carriage_return) && bytes[0] == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
                return self.buffer_line(bytes);
            };
            self.after_carriage_return = bytes[end] == b'\r';
            // Most lines arrive whole and are parsed in place, without a copy.
            if self.line.is_empty() {
                self.parse_line(&bytes[..end], &mut each)?;
            } else {
                self.buffer_line(&bytes[..end])?;
                let mut line = std::mem::take(&mut self.line);
                self.parse_line(&line, &mut each)?;
                // Given back for the next line, so that its memory is allocated once per stream.
                line.clear();
                self.line = line;
            }
            bytes = &bytes[end + 1..];
        }
        Ok(())
    }

    /// Ends the stream, and emits a last event that lacks only its empty line.
    pub fn finish<F>(&mut self, mut each: F) -> Result<(), ModelError>
    where
        F: FnMut(SseEvent<'_>) -> Result<(), ModelError>,
    {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.parse_line(&line, &mut each)?;
        }
        self.dispatch(&mut each)
    }

    fn buffer_line(&mut self, bytes: &[u8]) -> Result<(), ModelError> {
        if self.line.len() + self.data.len() + bytes.len() > MAX_EVENT_BYTES {
            return Err(ModelError::Malformed(format!("one event is larger than {MAX_EVENT_BYTES} bytes")));
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn parse_line<F>(&mut self, mut line: &[u8], each: &mut F) -> Result<(), ModelError>
    where
        F: FnMut(SseEvent<'_>) -> Result<(), ModelError>,
    {
        if !std::mem::replace(&mut self.started, true) {
            // Allowed once, at the start of the stream.
            line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        }
        if line.is_empty() {
            return self.dispatch(each);
        }
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let value = line.get(colon + 1..).unwrap_or_default();
        // One space only; further ones belong to the value (WHATWG HTML, 9.2.6).
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match &line[..colon] {
            b"data" => self.add_data(value)?,
            b"event" => self.name = String::from_utf8_lossy(value).into_owned(),
            // llama.cpp reports errors in a field of its own.
            b"error" => {
                self.name.clear();
                self.name.push_str("error");
                self.add_data(value)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn add_data(&mut self, value: &[u8]) -> Result<(), ModelError> {
        if self.data.len() + value.len() > MAX_EVENT_BYTES {
            return Err(ModelError::Malformed(format!("one event is larger than {MAX_EVENT_BYTES} bytes")));
        }
        // Several `data` fields of one event are lines of one text.
        if std::mem::replace(&mut self.has_data, true) {
            self.data.push(b'\n');
        }
        self.data.extend_from_slice(value);
        Ok(())
    }

    fn dispatch<F>(&mut self, each: &mut F) -> Result<(), ModelError>
    where
        F: FnMut(SseEvent<'_>) -> Result<(), ModelError>,
    {
        // An event without data is not dispatched (WHATWG HTML, 9.2.6).
        let outcome = if self.has_data {
            each(SseEvent { name: &self.name, data: &String::from_utf8_lossy(&self.data) })
        } else {
            Ok(())
        };
        self.name.clear();
        self.data.clear();
        self.has_data = false;
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn events_of(pieces: &[&[u8]]) -> Vec<(String, String)> {
        let mut events = Vec::new();
        let mut parser = SseParser::default();
        for piece in pieces {
            parser
                .push(piece, |event| {
                    events.push((event.name.to_owned(), event.data.to_owned()));
                    Ok(())
                })
                .unwrap();
        }
        parser
            .finish(|event| {
                events.push((event.name.to_owned(), event.data.to_owned()));
                Ok(())
            })
            .unwrap();
        events
    }

    fn named(name: &str, data: &str) -> (String, String) {
        (name.to_owned(), data.to_owned())
    }

    #[test]
    fn accepts_every_line_ending() {
        let want = vec![named("", "a\nb"), named("", "c")];
        for end in ["\n", "\r\n", "\r"] {
            let text = ["data: a", "data:b", "", ": a comment", "", "data: c", "", ""].join(end);
            assert_eq!(events_of(&[text.as_bytes()]), want, "{end:?}");
        }
    }

    #[test]
    fn skips_lines_that_are_not_events() {
        let text =
            b"\xEF\xBB\xBFevent: ping\n\nid: 7\nretry: soon\nnonsense\n\ndata\n\nevent: x\ndata: {}\n\ndata: last";
        assert_eq!(events_of(&[text]), vec![named("", ""), named("x", "{}"), named("", "last")]);
    }

    #[test]
    fn maps_error_field_to_error_event() {
        assert_eq!(events_of(&[b"error: {\"code\":500}\n\n"]), vec![named("error", "{\"code\":500}")]);
    }

    #[test]
    fn rejects_event_without_end() {
        let mut parser = SseParser::default();
        let block = vec![b'x'; 1024 * 1024];
        parser.push(b"data: ", |_| Ok(())).unwrap();
        let refused = (0..17).map(|_| parser.push(&block, |_| Ok(()))).find_map(Result::err);
        assert!(matches!(refused, Some(ModelError::Malformed(_))), "{refused:?}");
    }

    proptest! {
        #[test]
        fn yields_the_same_events_for_any_cuts(
            lines in proptest::collection::vec("(data: ?|event: |: |)[a-zäß🚲:]{0,6}(\n|\r\n|\r|\n\n)", 0..20),
            cuts in proptest::collection::vec(0usize..400, 0..12),
        ) {
            let text = lines.concat();
            let bytes = text.as_bytes();
            let mut positions: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            positions.extend([0, bytes.len()]);
            positions.sort_unstable();
            let pieces: Vec<&[u8]> = positions.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            prop_assert_eq!(events_of(&pieces), events_of(&[bytes]));
        }
    }
}
