//! Files beside a chat: what its person attached, what tools gave back, pictures that a model made. Their bytes are kept
//! once; whatever names one says what it is and where it is served.

use serde::{Deserialize, Serialize};

use crate::FileId;

/// Where files are served: this, and the id.
pub const PLACE: &str = "/v1/files/";

/// A file, as a part of a message names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileRef {
    /// Such as `image/png`.
    pub media_type: String,
    /// What its person calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filename: Option<String>,
    /// Its id; on the wire the path at which it is served.
    #[serde(rename = "url", with = "path")]
    pub id: FileId,
    /// In bytes.
    pub size: u64,
}

impl FileRef {
    /// Whether it is a picture.
    pub fn is_picture(&self) -> bool {
        self.media_type.starts_with("image/")
    }

    /// Whether a model reads it as words.
    pub fn is_text(&self) -> bool {
        self.media_type.starts_with("text/") || self.media_type == "application/json"
    }

    /// What it is called in a sentence.
    pub fn title(&self) -> &str {
        self.filename.as_deref().unwrap_or(if self.is_picture() { "picture" } else { "file" })
    }
}

/// An id as the path at which its file is served.
mod path {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    use super::PLACE;
    use crate::FileId;

    pub fn serialize<S: Serializer>(id: &FileId, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{PLACE}{id}"))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<FileId, D::Error> {
        let path = String::deserialize(deserializer)?;
        let id = path.strip_prefix(PLACE).and_then(|id| id.parse().ok());
        id.ok_or_else(|| D::Error::custom("that is no file of this program"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Part;
    use serde_json::json;

    #[test]
    fn a_part_names_its_file_by_the_path_at_which_it_is_served() {
        let id = FileId::fresh();
        let file = FileRef { media_type: "image/png".into(), filename: Some("a.png".into()), id, size: 7 };
        let written = serde_json::to_value(Part::File(file.clone())).unwrap();
        let url = format!("/v1/files/{id}");
        let want = json!({ "type": "file", "mediaType": "image/png", "filename": "a.png", "url": url, "size": 7 });
        assert_eq!(written, want);
        assert_eq!(serde_json::from_value::<Part>(written).unwrap(), Part::File(file));
        for elsewhere in ["https://a.example/1", "/v1/files/", "/v1/files/..", "data:,a"] {
            let part = json!({ "type": "file", "mediaType": "image/png", "url": elsewhere, "size": 7 });
            assert!(serde_json::from_value::<Part>(part).is_err(), "{elsewhere}");
        }
    }
}
