//! Decoder from a response body to model events, for every form of body.

use domain::model::{ModelError, ModelEvent, Request};

use crate::providers::{EventDecoder, ProviderApi, StreamProgress};
use crate::sse::{SseEvent, SseParser};

/// Maximum size of a response that is one JSON document, in bytes.
const MAX_DOCUMENT_BYTES: usize = 16 * 1024 * 1024;

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
            BodyForm::Events(parser) => parser.push(bytes, |event| self.decoder.push(&event, out)),
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
            BodyForm::Events(mut parser) => match parser.finish(|event| self.decoder.push(&event, out)) {
                // A last event that is cut off is normal for a truncated response, which `finish` below reports.
                Ok(()) | Err(ModelError::Malformed(_)) => {}
                Err(error) => return Err(error),
            },
            BodyForm::Document(document) => {
                self.decoder.push(&SseEvent { name: "", data: &String::from_utf8_lossy(&document) }, out)?;
            }
        }
        self.decoder.finish(out)
    }

    /// Returns how far the response has progressed.
    pub fn progress(&self) -> StreamProgress {
        self.decoder.progress()
    }
}
