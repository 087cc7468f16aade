//! Pictures and documents: those that go out, those that a wire or a model does not take, and pictures that come in.

use std::collections::HashSet;
use std::sync::Arc;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use domain::model::{FileKind, ModelEvent, ModelFile, ModelMessage, Request, picture_type};

use super::Concessions;

/// Pictures of one answer at most: a model that never stops drawing is not listened to.
const MOST_PICTURES: usize = 16;

/// What is said when a model takes no pictures.
const NO_PICTURES: &str = "This model takes no pictures, so it answers without them.";
/// What is said when a model takes no documents.
const NO_DOCUMENTS: &str = "This model takes no PDF documents, so it answers without them.";
/// What is said when it takes neither.
const NEITHER: &str = "This model takes no pictures and no PDF documents, so it answers without them.";

/// What a document is called that has no name, where the wire wants one.
pub(super) const NAMELESS: &str = "document.pdf";

/// Files that a wire cannot hold where they belong. They go into the person's next turn, below words that say whose
/// they are.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Aside<'a> {
    /// Whose they are.
    pub about: String,
    /// The files.
    pub files: Vec<&'a ModelFile>,
}

/// The files that a tool gave back.
pub(super) fn of_result<'a>(tool: &str, call: &str, files: &'a [ModelFile]) -> Option<Aside<'a>> {
    let about = format!("[What follows is no message of the person: the tool {tool} gave it back in the call {call}.]");
    (!files.is_empty()).then(|| Aside { about, files: files.iter().collect() })
}

/// The pictures that a model made.
pub(super) fn of_model<'a>(files: impl IntoIterator<Item = &'a ModelFile>) -> Option<Aside<'a>> {
    let files: Vec<_> = files.into_iter().collect();
    let about = "[What follows is no message of the person: you made it in your answer above.]".to_owned();
    (!files.is_empty()).then_some(Aside { about, files })
}

/// What a model refuses to be shown is told it in words; what no wire takes always is. `None` when that changes nothing.
pub(super) fn without_refused(request: &Request, concessions: Concessions) -> Option<Request> {
    let is_left_out = |file: &ModelFile| match file.kind() {
        FileKind::Picture => concessions.without_pictures,
        FileKind::Pdf => concessions.without_documents,
        FileKind::Other => true,
    };
    let mut files = request.messages.iter().flat_map(ModelMessage::files);
    files.any(is_left_out).then(|| in_words(request, is_left_out))
}

/// The same request with words in the place of files.
fn in_words(request: &Request, is_left_out: impl Fn(&ModelFile) -> bool + Copy) -> Request {
    let messages = request.messages.iter().cloned().map(|message| message.with_files_in_words(is_left_out));
    Request { messages: messages.collect(), ..request.clone() }
}

/// The same request with words in the place of every file.
pub(crate) fn without_files(request: &Request) -> Request {
    in_words(request, |_| true)
}

fn has(request: &Request, kind: FileKind) -> bool {
    request.messages.iter().flat_map(ModelMessage::files).any(|file| file.kind() == kind)
}

/// What the person should know about files that the model has refused to be shown.
pub(crate) fn left_out(request: &Request, concessions: Concessions) -> Option<&'static str> {
    let pictures = concessions.without_pictures && has(request, FileKind::Picture);
    let documents = concessions.without_documents && has(request, FileKind::Pdf);
    match (pictures, documents) {
        (true, true) => Some(NEITHER),
        (true, false) => Some(NO_PICTURES),
        (false, true) => Some(NO_DOCUMENTS),
        (false, false) => None,
    }
}

/// What a refusal says about the files of a request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Refused {
    /// The model, or its server, does not take them so, or at all: it is written this way from now on.
    Always(Concessions),
    /// Something is wrong with one of these files.
    These,
}

/// Reads a refusal; `None` when it is not about files, or the request has none.
pub(crate) fn refused(refusal: &str, made: Concessions, request: &Request) -> Option<Refused> {
    let refusal = refusal.to_ascii_lowercase();
    let names = |words: &[&str]| words.iter().any(|word| refusal.contains(word));
    let pictures = has(request, FileKind::Picture) && !made.without_pictures;
    let documents = has(request, FileKind::Pdf) && !made.without_documents;
    let names_pictures = names(&["image", "picture", "vision", "multimodal", "multi-modal", "modalit", "mmproj"]);
    let names_documents = names(&["file", "document", "pdf"]);
    // Words of servers that take nothing but text, or know only some kinds of parts.
    let names_content = names(&["content", "string", "after role 'tool'", "inline", "mime"]);
    if !((pictures || documents) && (names_pictures || names_documents || names_content)) {
        return None;
    }
    let cannot = names(&[
        "not support",
        "unsupported",
        "no endpoints found that support",
        "only supported by",
        "not a multimodal",
        "at most 0 image",
        "does not accept",
        "doesn't accept",
        "not enabled",
        "mmproj",
        "unknown",
        "unexpected",
        "unrecognized",
        "invalid type",
        "invalid content type",
        "must be a string",
        "valid string",
        "expected string",
        "expected a string",
    ]);
    let is_of_these = names(&[
        "format",
        "mime",
        "media type",
        "media_type",
        "size",
        "exceed",
        "dimension",
        "decode",
        "base64",
        "corrupt",
    ]);
    if !cannot || is_of_these {
        return (names_pictures || names_documents || is_of_these).then_some(Refused::These);
    }
    let of_results =
        |message: &ModelMessage| matches!(message, ModelMessage::ToolResult { files, .. } if !files.is_empty());
    let changed = if !made.plain_results && names(&["tool", "function"]) && request.messages.iter().any(of_results) {
        Concessions { plain_results: true, ..made }
    } else if documents && (names_documents || !pictures) {
        Concessions { without_documents: true, ..made }
    } else if pictures {
        Concessions { without_pictures: true, ..made }
    } else {
        return None;
    };
    Some(Refused::Always(changed))
}

/// The pictures of one answer that have been told.
#[derive(Debug, Default)]
pub(super) struct Pictures {
    /// The marks of their bytes.
    told: HashSet<String>,
}

impl Pictures {
    /// Whether there was one.
    pub fn is_empty(&self) -> bool {
        self.told.is_empty()
    }

    /// Reads a picture in base64. Nothing for what is none, and for one that was told before: some servers repeat at
    /// the end what they have streamed.
    pub fn read(&mut self, base64: &str) -> Option<Picture> {
        const TOLERANT: GeneralPurpose = GeneralPurpose::new(
            &STANDARD,
            GeneralPurposeConfig::new()
                .with_decode_padding_mode(DecodePaddingMode::Indifferent)
                .with_decode_allow_trailing_bits(true),
        );
        let bytes = TOLERANT.decode(base64.trim()).ok()?;
        let media_type = picture_type(&bytes)?;
        (self.told.len() < MOST_PICTURES && self.told.insert(mark(&bytes)))
            .then(|| Picture { media_type, bytes: bytes.into() })
    }

    /// The same for an address that holds a picture.
    pub fn read_url(&mut self, url: &str) -> Option<Picture> {
        let (head, data) = url.strip_prefix("data:")?.split_once(',')?;
        head.ends_with(";base64").then(|| self.read(data)).flatten()
    }
}

/// A picture that a model made.
#[derive(Debug)]
pub(super) struct Picture {
    media_type: &'static str,
    bytes: Arc<[u8]>,
}

impl Picture {
    /// By what it is found again among those of its answer: a number that says the same on every machine and day.
    pub fn mark(&self) -> String {
        mark(&self.bytes)
    }

    /// Tells of it.
    pub fn tell(self, out: &mut Vec<ModelEvent>) {
        out.push(ModelEvent::File { media_type: self.media_type.to_owned(), bytes: self.bytes });
    }
}

/// FNV-1a with 64 bits, which is written down with a seal and so must never change.
pub(super) fn mark(bytes: &[u8]) -> String {
    let sum = bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{sum:016x}")
}

#[cfg(test)]
mod tests;
