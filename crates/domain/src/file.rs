//! Files of a chat: attachments of users, files from tool results, images from models. The content is stored once; a
//! [`FileRef`] refers to it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::FileId;

/// URL path prefix of files; the id follows.
pub const FILE_URL_PREFIX: &str = "/v1/files/";

/// A reference to a stored file, as message parts contain it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileRef {
    /// Media type, such as `image/png`.
    pub media_type: String,
    /// File name given by the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filename: Option<String>,
    /// Id of the file. In JSON it is the URL path of the file.
    #[serde(rename = "url", with = "path")]
    #[schemars(with = "String")]
    pub id: FileId,
    /// Size in bytes.
    pub size: u64,
}

impl FileRef {
    /// Returns whether the file is an image.
    pub fn is_picture(&self) -> bool {
        self.media_type.starts_with("image/")
    }

    /// Returns whether a model reads the file as text.
    pub fn is_text(&self) -> bool {
        self.media_type.starts_with("text/") || self.media_type == "application/json"
    }

    /// Returns a name for use in a sentence: the file name, or a generic word.
    pub fn title(&self) -> &str {
        self.filename.as_deref().unwrap_or(if self.is_picture() { "picture" } else { "file" })
    }
}

/// JSON form of a [`FileId`]: the URL path of the file.
mod path {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    use super::FILE_URL_PREFIX;
    use crate::FileId;

    pub fn serialize<S: Serializer>(id: &FileId, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{FILE_URL_PREFIX}{id}"))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<FileId, D::Error> {
        let path = String::deserialize(deserializer)?;
        // Only own paths are accepted, so that a stored part never refers to a foreign URL.
        let id = path.strip_prefix(FILE_URL_PREFIX).and_then(|id| id.parse().ok());
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
