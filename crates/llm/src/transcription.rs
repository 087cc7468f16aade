//! Transcription of speech: the request and the response of `audio/transcriptions`, which OpenAI and compatible servers
//! share. Nothing here does I/O.

use std::fmt::Write as _;

use bytes::Bytes;
use domain::model::{ModelError, Usage};
use domain::provider::ProviderApi;
use serde::Deserialize;

/// Path below the base URL of a provider.
pub(crate) const PATH: &str = "audio/transcriptions";

/// Container format of a recording. These are what browsers record, and what all transcription servers accept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AudioFormat {
    /// WebM, of Chrome and Firefox.
    Webm,
    /// Ogg, of Firefox.
    Ogg,
    /// MP4, of Safari.
    Mp4,
    /// WAV.
    Wav,
}

impl AudioFormat {
    /// Detects the format from the first bytes, because a declared type is not trusted. Returns `None` for others.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let at = |start: usize, mark: &[u8]| bytes.get(start..).is_some_and(|rest| rest.starts_with(mark));
        if at(0, &[0x1a, 0x45, 0xdf, 0xa3]) {
            Some(Self::Webm)
        } else if at(0, b"OggS") {
            Some(Self::Ogg)
        } else if at(4, b"ftyp") {
            Some(Self::Mp4)
        } else if at(0, b"RIFF") && at(8, b"WAVE") {
            Some(Self::Wav)
        } else {
            None
        }
    }

    /// Returns the media type.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Webm => "audio/webm",
            Self::Ogg => "audio/ogg",
            Self::Mp4 => "audio/mp4",
            Self::Wav => "audio/wav",
        }
    }

    /// Returns the file name by which servers recognize the format.
    fn file_name(self) -> &'static str {
        match self {
            Self::Webm => "audio.webm",
            Self::Ogg => "audio.ogg",
            Self::Mp4 => "audio.mp4",
            Self::Wav => "audio.wav",
        }
    }
}

/// Recorded speech.
#[derive(Debug, Clone)]
pub struct Recording {
    /// Format of the file.
    pub format: AudioFormat,
    /// The file.
    pub bytes: Bytes,
    /// Language that is spoken, as an ISO 639 code of two or three letters; `None` lets the model detect it.
    pub language: Option<String>,
}

/// Text that was said in a [`Recording`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscribedText {
    /// Text; empty if nothing was said.
    pub text: String,
    /// Tokens, if the provider counts in tokens.
    pub usage: Option<Usage>,
}

/// Returns whether an API has transcriptions.
pub fn is_supported(api: ProviderApi) -> bool {
    matches!(api, ProviderApi::OpenAiChat | ProviderApi::OpenAiResponses)
}

/// A request body of the type `multipart/form-data`, in parts, so that the recording is not copied.
pub(crate) struct FormBody {
    /// Value of the header `Content-Type`.
    pub content_type: String,
    /// Parts, in order.
    pub parts: [Bytes; 3],
}

/// Encodes the request for a recording. `boundary` separates the fields; it must not occur in the recording.
pub(crate) fn encode(recording: &Recording, model: &str, boundary: &str) -> FormBody {
    let Recording { format, bytes, language } = recording;
    let mut head = String::new();
    let fields = [("model", Some(model)), ("response_format", Some("json")), ("language", language.as_deref())];
    for (name, value) in fields {
        let Some(value) = value else { continue };
        // Writing to a string cannot fail.
        let _ = write!(head, "--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n");
    }
    let _ = write!(
        head,
        "--{boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{}\"\r\nContent-Type: {}\r\n\r\n",
        format.file_name(),
        format.media_type()
    );
    FormBody {
        content_type: format!("multipart/form-data; boundary={boundary}"),
        parts: [head.into(), bytes.clone(), format!("\r\n--{boundary}--\r\n").into()],
    }
}

/// Parses a response.
///
/// # Errors
///
/// [`ModelError::Malformed`] if it has no text.
pub(crate) fn decode(body: &[u8]) -> Result<TranscribedText, ModelError> {
    #[derive(Deserialize)]
    struct Body {
        text: String,
        #[serde(default)]
        usage: Option<Tokens>,
    }
    /// Usage of models that count in tokens. Others count in seconds and have none of these.
    #[derive(Deserialize)]
    struct Tokens {
        #[serde(default)]
        input_tokens: u64,
        #[serde(default)]
        output_tokens: u64,
    }
    let body: Body = serde_json::from_slice(body).map_err(|error| ModelError::Malformed(error.to_string()))?;
    let usage = body.usage.filter(|usage| usage.input_tokens + usage.output_tokens > 0).map(|usage| Usage {
        input_tokens: usage.input_tokens,
        output_tokens: usage.output_tokens,
        cached_input_tokens: 0,
    });
    Ok(TranscribedText { text: body.text.trim().to_owned(), usage })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn detects_format_from_content() {
        for (bytes, format) in [
            (b"\x1a\x45\xdf\xa3\x9f".as_slice(), Some(AudioFormat::Webm)),
            (b"OggS\0\x02", Some(AudioFormat::Ogg)),
            (b"\0\0\0\x1cftypiso5", Some(AudioFormat::Mp4)),
            (b"RIFF\x24\0\0\0WAVEfmt ", Some(AudioFormat::Wav)),
            (b"RIFF\x24\0\0\0WEBPVP8 ", None),
            (b"ID3\x04", None),
            (b"<html>", None),
            (b"", None),
        ] {
            assert_eq!(AudioFormat::of(bytes), format, "{bytes:?}");
        }
    }

    #[test]
    fn encodes_form() {
        let recording = Recording {
            format: AudioFormat::Ogg,
            bytes: Bytes::from_static(b"OggS\r\n\xff"),
            language: Some("de".to_owned()),
        };
        let FormBody { content_type, parts } = encode(&recording, "whisper-1", "xyz");
        assert_eq!(content_type, "multipart/form-data; boundary=xyz");
        let expected = [
            b"--xyz\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nwhisper-1\r\n".as_slice(),
            b"--xyz\r\nContent-Disposition: form-data; name=\"response_format\"\r\n\r\njson\r\n",
            b"--xyz\r\nContent-Disposition: form-data; name=\"language\"\r\n\r\nde\r\n",
            b"--xyz\r\nContent-Disposition: form-data; name=\"file\"; filename=\"audio.ogg\"\r\nContent-Type: audio/ogg\r\n\r\n",
            b"OggS\r\n\xff\r\n--xyz--\r\n",
        ];
        assert_eq!(parts.concat(), expected.concat());
    }

    #[test]
    fn decodes_text_and_tokens() {
        let usage = Some(Usage { input_tokens: 14, output_tokens: 3, cached_input_tokens: 0 });
        for (body, text, usage) in [
            (r#"{"text":" Buy milk.\n"}"#, "Buy milk.", None),
            (r#"{"text":"","usage":{"type":"duration","seconds":3}}"#, "", None),
            (r#"{"text":"Hi","usage":{"type":"tokens","input_tokens":14,"output_tokens":3}}"#, "Hi", usage),
        ] {
            assert_eq!(decode(body.as_bytes()), Ok(TranscribedText { text: text.to_owned(), usage }), "{body}");
        }
        assert!(matches!(decode(b"{}"), Err(ModelError::Malformed(_))));
        assert!(matches!(decode(b"Buy milk."), Err(ModelError::Malformed(_))));
    }
}
