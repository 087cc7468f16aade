//! Bytes become server-sent events.
//!
//! Tolerant on purpose: every kind of line end, fields without a colon, a last event without its empty line. What the
//! parser does refuse is an event that would fill the memory.

use domain::model::ModelError;

/// The most bytes of one event; far above the largest that a model sends (a tool call's arguments in one piece).
const MAX_EVENT_BYTES: usize = 16 * 1024 * 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// One event of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event<'a> {
    /// The name; empty when the server gave none.
    pub name: &'a str,
    /// The data lines, a line feed between two of them.
    pub data: &'a str,
}

/// Puts events together from bytes that may be cut anywhere.
#[derive(Debug, Default)]
pub struct Parser {
    line: Vec<u8>,
    name: String,
    data: Vec<u8>,
    has_data: bool,
    after_carriage_return: bool,
    started: bool,
}

impl Parser {
    /// Takes the next bytes and calls `each` for every event they complete. An error of `each` ends the work at once.
    pub fn push<F>(&mut self, mut bytes: &[u8], mut each: F) -> Result<(), ModelError>
    where
        F: FnMut(Event<'_>) -> Result<(), ModelError>,
    {
        while !bytes.is_empty() {
            if std::mem::take(&mut self.after_carriage_return) && bytes[0] == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
                return self.keep(bytes);
            };
            self.after_carriage_return = bytes[end] == b'\r';
            if self.line.is_empty() {
                self.take_line(&bytes[..end], &mut each)?;
            } else {
                self.keep(&bytes[..end])?;
                let mut line = std::mem::take(&mut self.line);
                self.take_line(&line, &mut each)?;
                line.clear();
                self.line = line;
            }
            bytes = &bytes[end + 1..];
        }
        Ok(())
    }

    /// The stream is over: an event that lacks only its empty line still counts.
    pub fn finish<F>(&mut self, mut each: F) -> Result<(), ModelError>
    where
        F: FnMut(Event<'_>) -> Result<(), ModelError>,
    {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.take_line(&line, &mut each)?;
        }
        self.dispatch(&mut each)
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<(), ModelError> {
        if self.line.len() + self.data.len() + bytes.len() > MAX_EVENT_BYTES {
            return Err(ModelError::Malformed(format!("one event is larger than {MAX_EVENT_BYTES} bytes")));
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn take_line<F>(&mut self, mut line: &[u8], each: &mut F) -> Result<(), ModelError>
    where
        F: FnMut(Event<'_>) -> Result<(), ModelError>,
    {
        if !std::mem::replace(&mut self.started, true) {
            line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        }
        if line.is_empty() {
            return self.dispatch(each);
        }
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let value = line.get(colon + 1..).unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match &line[..colon] {
            b"data" => self.add_data(value)?,
            b"event" => self.name = String::from_utf8_lossy(value).into_owned(),
            // llama.cpp tells a failure in a field of its own.
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
        if std::mem::replace(&mut self.has_data, true) {
            self.data.push(b'\n');
        }
        self.data.extend_from_slice(value);
        Ok(())
    }

    fn dispatch<F>(&mut self, each: &mut F) -> Result<(), ModelError>
    where
        F: FnMut(Event<'_>) -> Result<(), ModelError>,
    {
        let outcome = if self.has_data {
            each(Event { name: &self.name, data: &String::from_utf8_lossy(&self.data) })
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
        let mut parser = Parser::default();
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
    fn every_line_end_ends_a_line() {
        let want = vec![named("", "a\nb"), named("", "c")];
        for end in ["\n", "\r\n", "\r"] {
            let text = ["data: a", "data:b", "", ": a comment", "", "data: c", "", ""].join(end);
            assert_eq!(events_of(&[text.as_bytes()]), want, "{end:?}");
        }
    }

    #[test]
    fn what_is_not_an_event_is_left_out() {
        let text =
            b"\xEF\xBB\xBFevent: ping\n\nid: 7\nretry: soon\nnonsense\n\ndata\n\nevent: x\ndata: {}\n\ndata: last";
        assert_eq!(events_of(&[text]), vec![named("", ""), named("x", "{}"), named("", "last")]);
    }

    #[test]
    fn a_field_named_error_is_an_event_named_error() {
        assert_eq!(events_of(&[b"error: {\"code\":500}\n\n"]), vec![named("error", "{\"code\":500}")]);
    }

    #[test]
    fn an_event_without_end_is_refused() {
        let mut parser = Parser::default();
        let block = vec![b'x'; 1024 * 1024];
        parser.push(b"data: ", |_| Ok(())).unwrap();
        let refused = (0..17).map(|_| parser.push(&block, |_| Ok(()))).find_map(Result::err);
        assert!(matches!(refused, Some(ModelError::Malformed(_))), "{refused:?}");
    }

    proptest! {
        #[test]
        fn cuts_make_no_difference(
            lines in proptest::collection::vec("(data: ?|event: |: |)[a-zäß🚲:]{0,6}(\n|\r\n|\r|\n\n)", 0..20),
            cuts in proptest::collection::vec(0usize..400, 0..12),
        ) {
            let text = lines.concat();
            let bytes = text.as_bytes();
            let mut places: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            places.extend([0, bytes.len()]);
            places.sort_unstable();
            let pieces: Vec<&[u8]> = places.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            prop_assert_eq!(events_of(&pieces), events_of(&[bytes]));
        }
    }
}
