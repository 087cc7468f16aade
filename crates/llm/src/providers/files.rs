//! Pictures and documents: files in requests, files that an API or a model does not accept, and generated pictures.

use std::collections::HashSet;
use std::sync::Arc;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use domain::model::{FileKind, ModelEvent, ModelFile, ModelMessage, Request, picture_type};

use super::RequestAdjustments;

/// Maximum number of pictures kept of one response, in case a model never stops generating them.
const MAX_PICTURES_PER_RESPONSE: usize = 16;

/// Notice for the user about a model that does not accept pictures.
const NO_PICTURES_NOTICE: &str = "This model does not support pictures, so it answers without them.";

/// Notice for the user about a model that does not accept documents.
const NO_DOCUMENTS_NOTICE: &str = "This model does not support PDF documents, so it answers without them.";

/// Notice for the user about a model that accepts neither.
const NO_FILES_NOTICE: &str = "This model does not support pictures or PDF documents, so it answers without them.";

/// Name of a document that has none, for APIs that require a name.
pub(super) const DEFAULT_DOCUMENT_NAME: &str = "document.pdf";

/// Files that an API does not accept where they belong, such as in a tool result.
///
/// They are sent with the next user message, after a text that names their origin.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct DetachedFiles<'a> {
    /// Text for the model that names the origin of the files.
    pub origin: String,
    pub files: Vec<&'a ModelFile>,
}

impl<'a> DetachedFiles<'a> {
    /// Returns the files of a tool result; `None` when there are none.
    pub fn from_tool_result(tool: &str, call: &str, files: &'a [ModelFile]) -> Option<Self> {
        let origin =
            format!("[What follows is no message of the person: the tool {tool} gave it back in the call {call}.]");
        (!files.is_empty()).then(|| Self { origin, files: files.iter().collect() })
    }

    /// Returns pictures that the model generated; `None` when there are none.
    pub fn from_model(files: impl IntoIterator<Item = &'a ModelFile>) -> Option<Self> {
        let files: Vec<_> = files.into_iter().collect();
        let origin = "[What follows is no message of the person: you made it in your answer above.]".to_owned();
        (!files.is_empty()).then_some(Self { origin, files })
    }
}

/// Replaces the files that the model refuses, and those that no API accepts, with text that describes them. Returns
/// `None` when there are no such files.
pub(super) fn replace_unsupported_files(request: &Request, adjustments: RequestAdjustments) -> Option<Request> {
    let is_unsupported = |file: &ModelFile| match file.kind() {
        FileKind::Picture => adjustments.omit_pictures,
        FileKind::Pdf => adjustments.omit_documents,
        FileKind::Other => true,
    };
    let mut files = request.messages.iter().flat_map(ModelMessage::files);
    files.any(is_unsupported).then(|| replace_files(request, is_unsupported))
}

/// Replaces the selected files with text that describes them.
fn replace_files(request: &Request, is_unsupported: impl Fn(&ModelFile) -> bool + Copy) -> Request {
    let messages = request.messages.iter().cloned().map(|message| message.with_files_in_words(is_unsupported));
    Request { messages: messages.collect(), ..request.clone() }
}

/// Replaces every file of a request with text that describes it.
pub(crate) fn replace_all_files(request: &Request) -> Request {
    replace_files(request, |_| true)
}

fn has_file(request: &Request, kind: FileKind) -> bool {
    request.messages.iter().flat_map(ModelMessage::files).any(|file| file.kind() == kind)
}

/// Returns a notice for the user about files that are omitted from the request.
pub(crate) fn omitted_files_notice(request: &Request, adjustments: RequestAdjustments) -> Option<&'static str> {
    let pictures = adjustments.omit_pictures && has_file(request, FileKind::Picture);
    let documents = adjustments.omit_documents && has_file(request, FileKind::Pdf);
    match (pictures, documents) {
        (true, true) => Some(NO_FILES_NOTICE),
        (true, false) => Some(NO_PICTURES_NOTICE),
        (false, true) => Some(NO_DOCUMENTS_NOTICE),
        (false, false) => None,
    }
}

/// Cause of a refusal that is about files.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum FileRefusal {
    /// The model, or its server, does not support such files, or not in this place: later requests need the
    /// adjustments.
    Unsupported(RequestAdjustments),
    /// One of the files of this request cannot be used.
    InvalidFile,
}

/// Classifies a refusal; `None` when it is not about files, or when the request has none.
pub(crate) fn classify_file_refusal(
    refusal: &str,
    current: RequestAdjustments,
    request: &Request,
) -> Option<FileRefusal> {
    // Providers have no common error codes for this, so the texts of many of them are recognized by phrases.
    let refusal = refusal.to_ascii_lowercase();
    let names = |phrases: &[&str]| phrases.iter().any(|phrase| refusal.contains(phrase));
    let pictures = has_file(request, FileKind::Picture) && !current.omit_pictures;
    let documents = has_file(request, FileKind::Pdf) && !current.omit_documents;
    let names_pictures = names(&["image", "picture", "vision", "multimodal", "multi-modal", "modalit", "mmproj"]);
    let names_documents = names(&["file", "document", "pdf"]);
    // Errors of servers that accept only text, or only some types of content parts.
    let names_content = names(&["content", "string", "after role 'tool'", "inline", "mime"]);
    if !((pictures || documents) && (names_pictures || names_documents || names_content)) {
        return None;
    }
    let is_unsupported = names(&[
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
    let is_invalid_file = names(&[
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
    // Both kinds of phrases occur in texts such as "unsupported image format", which is about the file.
    if !is_unsupported || is_invalid_file {
        return (names_pictures || names_documents || is_invalid_file).then_some(FileRefusal::InvalidFile);
    }
    let has_result_files =
        |message: &ModelMessage| matches!(message, ModelMessage::ToolResult { files, .. } if !files.is_empty());
    // Servers that accept pictures from users may refuse them in tool results, which is the smaller restriction.
    let adjusted = if !current.text_only_results
        && names(&["tool", "function"])
        && request.messages.iter().any(has_result_files)
    {
        RequestAdjustments { text_only_results: true, ..current }
    } else if documents && (names_documents || !pictures) {
        RequestAdjustments { omit_documents: true, ..current }
    } else if pictures {
        RequestAdjustments { omit_pictures: true, ..current }
    } else {
        return None;
    };
    Some(FileRefusal::Unsupported(adjusted))
}

/// Pictures of one response, without duplicates.
#[derive(Debug, Default)]
pub(super) struct GeneratedPictures {
    /// Hashes of the pictures that were returned.
    seen: HashSet<String>,
}

impl GeneratedPictures {
    /// Returns whether the response has contained no picture so far.
    pub fn is_empty(&self) -> bool {
        self.seen.is_empty()
    }

    /// Decodes a picture in base64.
    ///
    /// Returns `None` for anything else, and for a picture that was returned before: some servers repeat at the end
    /// what they have streamed.
    pub fn decode_base64(&mut self, base64: &str) -> Option<GeneratedPicture> {
        // Servers differ in whether they pad base64.
        const LENIENT_BASE64: GeneralPurpose = GeneralPurpose::new(
            &STANDARD,
            GeneralPurposeConfig::new()
                .with_decode_padding_mode(DecodePaddingMode::Indifferent)
                .with_decode_allow_trailing_bits(true),
        );
        let bytes = LENIENT_BASE64.decode(base64.trim()).ok()?;
        // The type comes from the content, because servers declare wrong ones.
        let media_type = picture_type(&bytes)?;
        (self.seen.len() < MAX_PICTURES_PER_RESPONSE && self.seen.insert(content_hash(&bytes)))
            .then(|| GeneratedPicture { media_type, bytes: bytes.into() })
    }

    /// Decodes a picture in a `data:` URL, like [`Self::decode_base64`].
    pub fn decode_data_url(&mut self, url: &str) -> Option<GeneratedPicture> {
        let (head, data) = url.strip_prefix("data:")?.split_once(',')?;
        head.ends_with(";base64").then(|| self.decode_base64(data)).flatten()
    }
}

/// A picture that a model generated.
#[derive(Debug)]
pub(super) struct GeneratedPicture {
    media_type: &'static str,
    bytes: Arc<[u8]>,
}

impl GeneratedPicture {
    /// Returns the [`content_hash`] of the picture, by which a later request finds it among those of its response.
    pub fn content_hash(&self) -> String {
        content_hash(&self.bytes)
    }

    /// Appends the picture as a [`ModelEvent::File`].
    pub fn emit(self, out: &mut Vec<ModelEvent>) {
        out.push(ModelEvent::File { media_type: self.media_type.to_owned(), bytes: self.bytes });
    }
}

/// Returns the 64-bit FNV-1a hash of a file in hexadecimal. It is stored in signatures, so it must never change.
pub(super) fn content_hash(bytes: &[u8]) -> String {
    let hash = bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests;
