//! Decoder from a response body to model events, for every form of body.

use super::WireFormat;
use domain::json_shape::JsonShape;
use domain::model::{ModelError, ModelEvent, Request};

use crate::providers::{EventDecoder, ProviderApi, StreamProgress};
use crate::sse::{SseEvent, SseParser};

/// Maximum size of a response that is one JSON document, in bytes.
const MAX_DOCUMENT_BYTES: usize = 16 * 1024 * 1024;

/// Size up to which an event is not measured before it is parsed, in bytes: whatever it holds, it takes a few MiB at
/// most.
const MAX_UNMEASURED_BYTES: usize = 64 * 1024;

/// Decoder for the body of one response, which may be cut anywhere.
///
/// The form of the body is detected by its first byte, because servers send wrong content types: a brace or a bracket
/// begins one JSON document (from a server that cannot stream, or an error with status 200), and `<` a web page.
pub struct StreamDecoder {
    decoder: Box<dyn EventDecoder>,
    form: BodyForm,
}

/// Form of a response body.
enum BodyForm {
    Unknown,
    Events(SseParser),
    Document(Vec<u8>),
}

impl StreamDecoder {
    /// Creates a decoder for the response to `request`.
    pub fn new(api: ProviderApi, request: &Request) -> Self {
        Self { decoder: api.decoder(request), form: BodyForm::Unknown }
    }

    /// Decodes the next bytes and appends their events to `out`. Must not be called again after an error.
    pub fn push(&mut self, mut bytes: &[u8], out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        if matches!(self.form, BodyForm::Unknown) {
            bytes = bytes.trim_ascii_start();
            self.form = match bytes.first() {
                // White space alone so far, such as the blank lines of a keep-alive.
                None => BodyForm::Unknown,
                Some(b'<') => {
                    return Err(ModelError::Malformed("the response is a web page, check the base URL".to_owned()));
                }
                Some(b'{' | b'[') => BodyForm::Document(Vec::new()),
                Some(_) => BodyForm::Events(SseParser::default()),
            };
        }
        match &mut self.form {
            BodyForm::Unknown => Ok(()),
            BodyForm::Events(parser) => parser.push(bytes, |event| decode(&mut *self.decoder, &event, out)),
            BodyForm::Document(document) => {
                if document.len() + bytes.len() > MAX_DOCUMENT_BYTES {
                    return Err(ModelError::Malformed(format!(
                        "the response is larger than {MAX_DOCUMENT_BYTES} bytes"
                    )));
                }
                document.extend_from_slice(bytes);
                Ok(())
            }
        }
    }

    /// Ends the body: appends the remaining events and [`ModelEvent::Finish`], or returns why there is no response.
    pub fn finish(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        match std::mem::replace(&mut self.form, BodyForm::Unknown) {
            BodyForm::Unknown => {}
            BodyForm::Events(mut parser) => match parser.finish(|event| decode(&mut *self.decoder, &event, out)) {
                // A last event that is cut off is normal for a truncated response, which `finish` below reports.
                Ok(()) | Err(ModelError::Malformed(_)) => {}
                Err(error) => return Err(error),
            },
            BodyForm::Document(document) => {
                // Lossy, because one invalid byte in a text must not cost the response.
                let data = &String::from_utf8_lossy(&document);
                decode(&mut *self.decoder, &SseEvent { name: "", data }, out)?;
            }
        }
        self.decoder.finish(out)
    }

    /// Returns how far the response has progressed.
    pub fn progress(&self) -> StreamProgress {
        self.decoder.progress()
    }
}

/// Decodes an event, unless its JSON would take too much memory.
fn decode(decoder: &mut dyn EventDecoder, event: &SseEvent<'_>, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
    if event.data.len() > MAX_UNMEASURED_BYTES && !JsonShape::measure(event.data).is_acceptable() {
        return Err(ModelError::Malformed("the response has too many or too deeply nested JSON values".to_owned()));
    }
    decoder.push(event, out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_json_of_too_many_values_in_events_and_documents() {
        let values = vec!["{}"; 3_000_000].join(",");
        let chunk = format!(r#"{{"choices":[{{"delta":{{"content":"Hello","extra":[{values}]}}}}]}}"#);
        for body in [format!("data: {chunk}\n\n"), chunk] {
            let mut decoder = StreamDecoder::new(ProviderApi::OpenAiChat, &Request::default());
            let mut events = Vec::new();
            let decoded = decoder.push(body.as_bytes(), &mut events).and_then(|()| decoder.finish(&mut events));
            assert!(matches!(decoded, Err(ModelError::Malformed(_))), "{decoded:?}");
            assert_eq!(events.len(), 0);
        }
    }

    #[test]
    fn decodes_large_texts() {
        let text = "a{[,:".repeat(400_000);
        let chunk = serde_json::json!({ "choices": [{ "delta": { "content": text } }] });
        let mut decoder = StreamDecoder::new(ProviderApi::OpenAiChat, &Request::default());
        let mut events = Vec::new();
        decoder.push(format!("data: {chunk}\n\n").as_bytes(), &mut events).unwrap();
        assert!(events.iter().any(|event| matches!(event, ModelEvent::Delta { text: found, .. } if *found == text)));
    }
}
