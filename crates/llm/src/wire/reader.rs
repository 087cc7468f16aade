//! The body of an answer becomes model events, whatever form it came in.

use domain::model::{ModelError, ModelEvent, Request};

use crate::sse::{Event, Parser};
use crate::wire::{Decoder, Progress, Wire};

/// The most bytes of an answer that comes as one JSON document.
const MAX_DOCUMENT_BYTES: usize = 16 * 1024 * 1024;

/// Reads the body of one answer, cut anywhere.
///
/// Headers are not asked what the body is, because servers err there: a body that begins with a brace or a bracket is
/// one JSON document (a server that cannot stream, or a failure told with status 200), one that begins with `<` is a web page.
pub struct Reader {
    decoder: Box<dyn Decoder>,
    form: Form,
}

enum Form {
    Unknown,
    Events(Parser),
    Document(Vec<u8>),
}

impl Reader {
    /// A reader for the answer to `request`.
    pub fn new(wire: Wire, request: &Request) -> Self {
        Self { decoder: wire.decoder(request), form: Form::Unknown }
    }

    /// Takes the next bytes and adds what the model says by them. After an error nothing more may be pushed.
    pub fn push(&mut self, mut bytes: &[u8], out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        if matches!(self.form, Form::Unknown) {
            bytes = bytes.trim_ascii_start();
            self.form = match bytes.first() {
                None => Form::Unknown,
                Some(b'<') => return Err(ModelError::Malformed("a web page; check the base URL".to_owned())),
                Some(b'{' | b'[') => Form::Document(Vec::new()),
                Some(_) => Form::Events(Parser::default()),
            };
        }
        match &mut self.form {
            Form::Unknown => Ok(()),
            Form::Events(parser) => parser.push(bytes, |event| self.decoder.push(&event, out)),
            Form::Document(document) => {
                if document.len() + bytes.len() > MAX_DOCUMENT_BYTES {
                    return Err(ModelError::Malformed(format!("more than {MAX_DOCUMENT_BYTES} bytes")));
                }
                document.extend_from_slice(bytes);
                Ok(())
            }
        }
    }

    /// The body is over: adds what is left and the finish, or tells why there is no answer.
    pub fn finish(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        match std::mem::replace(&mut self.form, Form::Unknown) {
            Form::Unknown => {}
            Form::Events(mut parser) => match parser.finish(|event| self.decoder.push(&event, out)) {
                // A last event that was cut off is what a truncated answer looks like.
                Ok(()) | Err(ModelError::Malformed(_)) => {}
                Err(error) => return Err(error),
            },
            Form::Document(document) => {
                self.decoder.push(&Event { name: "", data: &String::from_utf8_lossy(&document) }, out)?;
            }
        }
        self.decoder.finish(out)
    }

    /// How far the answer has come.
    pub fn progress(&self) -> Progress {
        self.decoder.progress()
    }
}
