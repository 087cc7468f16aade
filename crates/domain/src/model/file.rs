//! Pictures and documents on their way to a model.

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A picture or a document, whole.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelFile {
    /// What its person or its tool calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it is, such as `image/png`, as found in its first bytes and not as somebody said.
    pub media_type: String,
    /// What it holds; base64 where it is written down. Shared, because a conversation is copied for every call.
    #[serde(serialize_with = "as_base64", deserialize_with = "from_base64")]
    pub bytes: Arc<[u8]>,
}

impl ModelFile {
    /// Whether it is a picture.
    pub fn is_picture(&self) -> bool {
        self.media_type.starts_with("image/")
    }

    /// Whether it is a PDF document.
    pub fn is_pdf(&self) -> bool {
        self.media_type == "application/pdf"
    }

    /// What it holds, as the wires write it.
    pub fn base64(&self) -> String {
        STANDARD.encode(&self.bytes)
    }
}

/// Without its bytes, which are many and somebody's own.
impl fmt::Debug for ModelFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, media_type, bytes } = self;
        let name = name.as_ref().map(String::len);
        write!(f, "ModelFile({media_type}, {} bytes, name of {name:?} bytes)", bytes.len())
    }
}

pub(super) fn as_base64<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&STANDARD.encode(bytes))
}

fn from_base64<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<[u8]>, D::Error> {
    let text = String::deserialize(deserializer)?;
    STANDARD.decode(text).map(Arc::from).map_err(serde::de::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn bytes_are_written_as_base64_and_read_back() {
        let bytes = Arc::from([0_u8, 255, 254].as_slice());
        let file = ModelFile { name: None, media_type: "image/png".into(), bytes };
        let written = serde_json::to_value(&file).unwrap();
        assert_eq!(written, json!({ "mediaType": "image/png", "bytes": "AP/+" }));
        assert_eq!(serde_json::from_value::<ModelFile>(written).unwrap(), file);
        assert!(serde_json::from_value::<ModelFile>(json!({ "mediaType": "a/b", "bytes": "?" })).is_err());
        assert_eq!(format!("{file:?}"), "ModelFile(image/png, 3 bytes, name of None bytes)");
    }
}
