//! Tools of MCP servers: definitions, calls and results.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::file::FileRef;
use crate::icon::Icon;
use crate::text::show_hidden_writing;

/// A server's claims about a tool's behavior. They are shown to the user and never relied on. The defaults are MCP's:
/// an unannotated tool may write, may destroy, and reaches outside.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ToolAnnotations {
    /// Display name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The tool changes nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only_hint: Option<bool>,
    /// The tool may destroy data; meaningful only if it writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destructive_hint: Option<bool>,
    /// A repeated call with the same arguments has no further effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotent_hint: Option<bool>,
    /// The tool reaches systems outside the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_world_hint: Option<bool>,
}

/// A tool as an MCP server lists it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolDefinition {
    /// Name: 1 to 128 characters, unique within its server.
    pub name: String,
    /// Display name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Description by the server; empty if there is none.
    #[serde(default)]
    pub description: String,
    /// JSON Schema of the arguments; always an object schema.
    #[serde(default = "any_object")]
    pub input_schema: Value,
    /// JSON Schema of the structured result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// The server's claims about the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<ToolAnnotations>,
    /// Icons. They are not part of the definition that a user's permission is bound to.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "readable_icons")]
    pub icons: Vec<Icon>,
    /// Metadata that is known here; the rest is dropped.
    #[serde(rename = "_meta", default, skip_serializing_if = "ToolMeta::is_empty")]
    pub meta: ToolMeta,
}

/// The known part of a tool's `_meta`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "Value")]
pub struct ToolMeta {
    /// The tool's app (MCP Apps).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ui: Option<Value>,
}

impl From<Value> for ToolMeta {
    /// Reads the known fields of any JSON value. Moves `ui/resourceUri`, which older servers send, into `ui`.
    fn from(mut meta: Value) -> Self {
        // Nothing here fails: a tool with odd metadata is still usable, just without its app.
        let mut ui = meta.get_mut("ui").map(Value::take);
        if let Some(old @ Value::String(_)) = meta.get_mut("ui/resourceUri").map(Value::take) {
            let fields = ui.get_or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(fields) = fields {
                // A server that sends both forms means the newer one.
                fields.entry("resourceUri").or_insert(old);
            }
        }
        Self { ui }
    }
}

impl ToolMeta {
    /// Returns whether there is no metadata.
    pub fn is_empty(&self) -> bool {
        self.ui.is_none()
    }

    /// Returns the URI of the tool's app, if there is one. It always begins with `ui://`.
    pub fn app(&self) -> Option<&str> {
        self.ui.as_ref()?.get("resourceUri")?.as_str().filter(|uri| uri.starts_with("ui://"))
    }

    /// Returns whether the model may see the tool.
    pub fn is_for_model(&self) -> bool {
        self.is_visible_to("model")
    }

    /// Returns whether apps of the same server may call the tool.
    pub fn is_for_apps(&self) -> bool {
        self.is_visible_to("app")
    }

    /// Returns whether the tool's `visibility` includes `whom`. A tool without the field is visible to the model and to
    /// apps.
    fn is_visible_to(&self, whom: &str) -> bool {
        let listed = self.ui.as_ref().and_then(|ui| ui.get("visibility")).and_then(Value::as_array);
        // An empty list is visible to none; a field of another type counts as missing.
        listed.is_none_or(|listed| listed.iter().any(|one| one == whom))
    }
}

/// Deserializes the valid icons and skips the others, so that an invalid icon does not hide the tool.
fn readable_icons<'de, D: Deserializer<'de>>(value: D) -> Result<Vec<Icon>, D::Error> {
    let icons = Option::<Vec<Value>>::deserialize(value)?.unwrap_or_default();
    Ok(icons.into_iter().filter_map(|icon| serde_json::from_value(icon).ok()).collect())
}

fn any_object() -> Value {
    serde_json::json!({ "type": "object" })
}

/// One content block of a tool result, in the format of MCP (`type` is text, image, audio, resource_link or resource).
/// It is stored unchanged, so that the user can look at all of it.
pub type ToolContent = Value;

/// The result of a [`ToolCall`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    /// Content blocks in the format of MCP, in order.
    #[schemars(with = "Vec<Map<String, Value>>")]
    pub content: Vec<ToolContent>,
    /// Structured result, if the tool has an output schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<Value>,
    /// Whether the tool reports a failure. The content then describes it.
    #[serde(default)]
    pub is_error: bool,
    /// Violation of the tool's output schema by the structured result. Found by this client, never sent by the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema_error: Option<String>,
    /// Metadata for the tool's app. The model never sees it.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Value>,
    /// File with the complete result as JSON, if the result is too long to be stored inline. The other fields then hold
    /// its beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<Box<FileRef>>,
}

/// Field of a [content block](ToolContent) that refers to the file with the block's bytes, which are then no longer
/// inline.
pub const PIECE_FILE: &str = "file";

impl ToolResult {
    /// Returns all files that the result refers to.
    pub fn files(&self) -> impl Iterator<Item = FileRef> {
        self.pictures().chain(self.whole.as_deref().cloned())
    }

    /// Returns the files with the bytes of content blocks, in order.
    pub fn pictures(&self) -> impl Iterator<Item = FileRef> {
        self.content.iter().filter_map(file_of_piece)
    }

    /// Creates a successful result with one text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![serde_json::json!({ "type": "text", "text": text.into() })], ..Self::default() }
    }

    /// Creates a failed result with one text.
    pub fn error(text: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::text(text) }
    }

    /// Returns the text for the model: texts, links and embedded texts in order, a placeholder for other content, and
    /// the structured result if there is no content. Hidden writing is made visible (see [`show_hidden_writing`]), and
    /// blocks for the user only are left out.
    pub fn to_model_text(&self) -> String {
        let for_model = self.content.iter().filter(|piece| is_for_model(piece));
        let pieces: Vec<String> = for_model.filter_map(piece_as_text).collect();
        let text = match &self.structured_content {
            Some(value) if pieces.is_empty() => value.to_string(),
            // The model must not take a result that only the user sees for an empty one.
            None if pieces.is_empty() && !self.content.is_empty() => "[shown to the person]".to_owned(),
            _ => pieces.join("\n"),
        };
        let text = match &self.schema_error {
            Some(wrong) => format!("{text}\n[The result is not what the tool announced: {wrong}]"),
            None => text,
        };
        show_hidden_writing(&text).into_owned()
    }
}

/// Returns the file with the bytes of a content block, if they are not inline.
pub fn file_of_piece(piece: &ToolContent) -> Option<FileRef> {
    FileRef::deserialize(piece.get(PIECE_FILE)?).ok()
}

/// Returns whether a content block is intended for the model. A block without an audience is.
pub fn is_for_model(piece: &ToolContent) -> bool {
    let audience = piece.get("annotations").and_then(|annotations| annotations.get("audience"));
    // An empty audience would hide the block from everyone, which no server means.
    let audience = audience.and_then(Value::as_array).filter(|audience| !audience.is_empty());
    audience.is_none_or(|audience| audience.iter().any(|role| role == "assistant"))
}

/// Returns the text of a content block for the model, or a placeholder for what is not text.
pub(crate) fn piece_as_text(piece: &ToolContent) -> Option<String> {
    let field = |name: &str| piece.get(name).and_then(Value::as_str);
    // A block without a type is invalid and left out.
    match field("type")? {
        "text" => field("text").map(str::to_owned),
        "image" => Some(format!("[image, {}]", field("mimeType").unwrap_or("unknown type"))),
        "audio" => Some(format!("[audio, {}]", field("mimeType").unwrap_or("unknown type"))),
        "resource_link" => Some(format!("[{}]({})", field("name").unwrap_or("resource"), field("uri").unwrap_or(""))),
        "resource" => {
            let resource = piece.get("resource")?;
            let uri = resource.get("uri").and_then(Value::as_str).unwrap_or("resource");
            match resource.get("text").and_then(Value::as_str) {
                Some(text) => Some(format!("{uri}:\n{text}")),
                None => Some(format!("[{uri}, binary]")),
            }
        }
        // A later revision may define it; the model learns at least that something is there.
        other => Some(format!("[{other}]")),
    }
}

/// The way a [`ToolCall`] ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The tool ran and returned a result.
    Done,
    /// The call failed, or the tool reported a failure.
    Error,
    /// The call was sent, but its result was lost, so that it may or may not have run.
    Unknown,
    /// The call was stopped before it was sent or before its result arrived.
    Stopped,
    /// The call was not made: the user denied it, or a stored permission did.
    Denied,
}

impl Outcome {
    /// Returns the word that the database and the wire formats use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Error => "error",
            Self::Unknown => "unknown",
            Self::Stopped => "stopped",
            Self::Denied => "denied",
        }
    }

    /// Parses a word that [`Outcome::as_str`] returned.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Done, Self::Error, Self::Unknown, Self::Stopped, Self::Denied]
            .into_iter()
            .find(|outcome| outcome.as_str() == word)
    }
}

/// A tool call of a message, as stored in `ai_chat_messages.tool_calls`. [`ModelCall`](crate::model::ModelCall) is its
/// form for the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// Id, unique within the message.
    pub id: String,
    /// Name of the tool at its server.
    pub name: String,
    /// Name of the connection, given by its owner.
    pub server_name: String,
    /// Arguments as they were sent; a string if the model's text is not JSON.
    pub arguments: Value,
    /// Result, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<ToolResult>,
    /// Error message for the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The way the call ended.
    pub outcome: Outcome,
    /// Milliseconds from sending the call to its result.
    pub duration_ms: u64,
    /// URI of the app that shows the result, if the tool had one at the time of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_model_reads_text_and_a_word_for_the_rest() {
        let result = ToolResult {
            content: vec![
                json!({ "type": "text", "text": "two files" }),
                json!({ "type": "image", "mimeType": "image/png", "data": "…" }),
                json!({ "type": "resource", "resource": { "uri": "file:///a", "text": "A" } }),
            ],
            ..ToolResult::default()
        };
        assert_eq!(result.to_model_text(), "two files\n[image, image/png]\nfile:///a:\nA");
    }

    #[test]
    fn nothing_is_written_for_the_model_alone() {
        let result = ToolResult::text("two files\u{e0048}\u{e0069}, \u{feff}one of them empty");
        assert_eq!(result.to_model_text(), "two files⟨U+E0048⟩⟨U+E0069⟩, \u{feff}one of them empty");
    }

    #[test]
    fn the_link_to_an_app_is_read_in_both_its_forms() {
        let meta = |value: Value| ToolMeta::from(value);
        let new = meta(json!({ "ui": { "resourceUri": "ui://a/b", "visibility": ["app"] }, "other": 1 }));
        assert_eq!(new.app(), Some("ui://a/b"));
        let old = meta(json!({ "ui/resourceUri": "ui://a/b" }));
        assert_eq!((old.app(), old.is_for_model(), old.is_for_apps()), (Some("ui://a/b"), true, true));
        let both = meta(json!({ "ui": { "resourceUri": "ui://new" }, "ui/resourceUri": "ui://old" }));
        assert_eq!(both.app(), Some("ui://new"));
        for odd in [json!(null), json!({ "ui": 1 }), json!({ "ui": { "resourceUri": "https://a" } })] {
            assert_eq!(meta(odd).app(), None);
        }
    }

    #[test]
    fn a_tool_is_there_for_those_it_names_and_without_a_word_for_all() {
        let visible = |list: Value| {
            let meta = ToolMeta::from(json!({ "ui": { "visibility": list } }));
            (meta.is_for_model(), meta.is_for_apps())
        };
        assert_eq!(visible(json!(["app"])), (false, true));
        assert_eq!(visible(json!(["model"])), (true, false));
        assert_eq!(visible(json!([])), (false, false));
        assert_eq!(visible(json!(null)), (true, true));
        assert!(ToolMeta::default().is_for_model() && ToolMeta::default().is_for_apps());
    }

    #[test]
    fn what_is_for_the_person_only_stays_with_the_person() {
        let piece = |text: &str, audience: Value| json!({ "type": "text", "text": text, "annotations": { "audience": audience } });
        let mut result = ToolResult {
            content: vec![
                piece("for you", json!(["user"])),
                piece("for both", json!(["user", "assistant"])),
                piece("for all", json!([])),
            ],
            ..ToolResult::default()
        };
        assert_eq!(result.to_model_text(), "for both\nfor all");
        result.content.truncate(1);
        assert_eq!(result.to_model_text(), "[shown to the person]");
    }

    #[test]
    fn a_tool_is_not_lost_for_its_picture() {
        let tool = json!({ "name": "a", "icons": [{ "src": 1 }, "x", { "src": "https://a.example/i.png", "sizes": ["48x48"] }] });
        let tool: ToolDefinition = serde_json::from_value(tool).unwrap();
        assert_eq!(tool.icons.len(), 1);
    }

    #[test]
    fn a_structured_result_alone_is_read_as_json() {
        let result = ToolResult { structured_content: Some(json!({ "n": 1 })), ..ToolResult::default() };
        assert_eq!(result.to_model_text(), "{\"n\":1}");
        let result = ToolResult { schema_error: Some("result.n: is too small".to_owned()), ..result };
        assert_eq!(
            result.to_model_text(),
            "{\"n\":1}\n[The result is not what the tool announced: result.n: is too small]"
        );
    }
}
