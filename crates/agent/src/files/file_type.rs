//! Detection of file types from their content; a declared type is not trusted.

use domain::model::picture_type;

/// Type of a file that users can attach, detected by [`of`](Self::of).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileType {
    /// An image that browsers display and models accept, with its media type.
    Picture(&'static str),
    /// A PDF document.
    Pdf,
    /// Text in UTF-8, including HTML and SVG.
    Text,
}

/// Media types of text that are preserved for downloads; all others become `text/plain`.
const PRESERVED_TEXT_TYPES: [&str; 3] = ["text/markdown", "text/csv", "application/json"];

impl FileType {
    /// Detects the type from the first bytes, or for text from all of them. Returns `None` for unsupported types.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        if let Some(picture) = picture_type(bytes) {
            return Some(Self::Picture(picture));
        }
        if bytes.starts_with(b"%PDF-") {
            return Some(Self::Pdf);
        }
        (!bytes.contains(&0) && str::from_utf8(bytes).is_ok()).then_some(Self::Text)
    }

    /// Returns the media type. The type that the client declared, `declared`, is considered only for text.
    pub fn media_type(self, declared: Option<&str>) -> &'static str {
        match self {
            Self::Picture(media_type) => media_type,
            Self::Pdf => "application/pdf",
            Self::Text => {
                let declared =
                    declared.map(|declared| declared.split(';').next().unwrap_or_default().trim().to_ascii_lowercase());
                PRESERVED_TEXT_TYPES.into_iter().find(|text| declared.as_deref() == Some(text)).unwrap_or("text/plain")
            }
        }
    }

    /// Returns the usual file name extension.
    pub fn ending(self) -> &'static str {
        match self {
            Self::Picture("image/jpeg") => "jpg",
            Self::Picture(media_type) => media_type.trim_start_matches("image/"),
            Self::Pdf => "pdf",
            Self::Text => "txt",
        }
    }

    /// Returns whether the file is an image.
    pub fn is_picture(self) -> bool {
        matches!(self, Self::Picture(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_say_what_a_file_is_and_nobodys_word() {
        for (bytes, want) in [
            (b"\x89PNG\r\n\x1a\n....".as_slice(), Some("image/png")),
            (b"\xff\xd8\xff\xe0....", Some("image/jpeg")),
            (b"RIFF\x10\0\0\0WEBPVP8 ", Some("image/webp")),
            (b"GIF89a...", Some("image/gif")),
            (b"%PDF-1.7\n%\xe2\xe3", Some("application/pdf")),
            (b"<svg xmlns='http://www.w3.org/2000/svg'/>", Some("text/plain")),
            (b"<!doctype html><script>alert(1)</script>", Some("text/plain")),
            ("Grüße, 日本".as_bytes(), Some("text/plain")),
            (b"RIFF\x10\0\0\0WAVE", None),
            (b"a\0b", None),
            (b"caf\xe9", None),
            (b"PK\x03\x04\0", None),
        ] {
            let kind = FileType::of(bytes);
            assert_eq!(kind.map(|kind| kind.media_type(Some("image/svg+xml"))), want);
        }
        assert_eq!(FileType::Text.media_type(Some("Text/Markdown; charset=utf-8")), "text/markdown");
        assert_eq!(FileType::Text.media_type(Some("text/html")), "text/plain");
        assert_eq!(
            (FileType::Picture("image/jpeg").ending(), FileType::Picture("image/webp").ending()),
            ("jpg", "webp")
        );
    }
}
