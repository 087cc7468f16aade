//! Tools: what a server offers, what a model asks for and what came of it.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::file::FileRef;
use crate::icon::Icon;
use crate::text::show_hidden_writing;

/// What a server says about a tool's behaviour. A claim, not a fact: shown as such, never relied on.
/// The defaults are the protocol's (a tool that says nothing may write, may destroy, and reaches outside).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ToolAnnotations {
    /// A name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The tool changes nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only_hint: Option<bool>,
    /// The tool may destroy something (only meaningful when it writes).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destructive_hint: Option<bool>,
    /// Calling it twice with the same arguments does no more than calling it once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotent_hint: Option<bool>,
    /// The tool reaches things outside the server's own world.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_world_hint: Option<bool>,
}

/// A tool as a server lists it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolDefinition {
    /// 1 to 128 characters; unique within its server.
    pub name: String,
    /// A name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it does, in the server's words; empty when the server says nothing.
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
    /// Pictures of it that may be shown. They are no part of what a person allows.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "readable_icons")]
    pub icons: Vec<Icon>,
    /// What else the server says about the tool, for those who know it.
    #[serde(rename = "_meta", default, skip_serializing_if = "ToolMeta::is_empty")]
    pub meta: ToolMeta,
}

/// What the house keeps of a tool's `_meta`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Value")]
pub struct ToolMeta {
    /// The view that belongs to the tool (MCP Apps).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ui: Option<Value>,
}

impl From<Value> for ToolMeta {
    /// Takes what it knows from whatever stands there. The link of older servers, which stands beside `ui`, is put
    /// into it.
    fn from(mut meta: Value) -> Self {
        let mut ui = meta.get_mut("ui").map(Value::take);
        if let Some(old @ Value::String(_)) = meta.get_mut("ui/resourceUri").map(Value::take) {
            let fields = ui.get_or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(fields) = fields {
                fields.entry("resourceUri").or_insert(old);
            }
        }
        Self { ui }
    }
}

impl ToolMeta {
    /// Whether nothing is kept.
    pub fn is_empty(&self) -> bool {
        self.ui.is_none()
    }

    /// The address of the tool's app, if it has one: always `ui://…`.
    pub fn app(&self) -> Option<&str> {
        self.ui.as_ref()?.get("resourceUri")?.as_str().filter(|uri| uri.starts_with("ui://"))
    }

    /// Whether the model may know the tool.
    pub fn is_for_model(&self) -> bool {
        self.is_visible_to("model")
    }

    /// Whether apps of the same server may call the tool.
    pub fn is_for_apps(&self) -> bool {
        self.is_visible_to("app")
    }

    /// A tool that says nothing is there for both.
    fn is_visible_to(&self, whom: &str) -> bool {
        let listed = self.ui.as_ref().and_then(|ui| ui.get("visibility")).and_then(Value::as_array);
        listed.is_none_or(|listed| listed.iter().any(|one| one == whom))
    }
}

/// Icons as far as they can be read: a tool is not lost for its picture.
fn readable_icons<'de, D: Deserializer<'de>>(value: D) -> Result<Vec<Icon>, D::Error> {
    let icons = Option::<Vec<Value>>::deserialize(value)?.unwrap_or_default();
    Ok(icons.into_iter().filter_map(|icon| serde_json::from_value(icon).ok()).collect())
}

fn any_object() -> Value {
    serde_json::json!({ "type": "object" })
}

/// One piece of a tool's result, in the protocol's own shape (`type` is text, image, audio, resource_link or
/// resource), kept whole for the person who looks at it.
pub type ToolContent = Value;

/// What a tool gave back.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    /// The pieces in order.
    pub content: Vec<ToolContent>,
    /// The structured result, when the tool has an output schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<Value>,
    /// The tool itself says that it failed; the pieces say how.
    #[serde(default)]
    pub is_error: bool,
    /// What of the structured result is not as the tool's output schema says; found here, never told by the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema_error: Option<String>,
    /// What the server adds for the tool's app. Nobody else reads it, least of all the model.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Value>,
    /// The file with all of it, as JSON, where it is too long to stand here; what stands here is its beginning then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<Box<FileRef>>,
}

/// The field of a piece that names the file with its bytes, which stand there no longer.
pub const PIECE_FILE: &str = "file";

impl ToolResult {
    /// The files that it names.
    pub fn files(&self) -> impl Iterator<Item = FileRef> {
        self.pictures().chain(self.whole.as_deref().cloned())
    }

    /// Those with the bytes of its pieces, in order.
    pub fn pictures(&self) -> impl Iterator<Item = FileRef> {
        self.content.iter().filter_map(file_of_piece)
    }

    /// A result of one text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![serde_json::json!({ "type": "text", "text": text.into() })], ..Self::default() }
    }

    /// A failure told in one text.
    pub fn error(text: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::text(text) }
    }

    /// What the model gets to read: the texts, links and embedded texts in order, a word in place of what is not
    /// text, and the structured result when there is no text at all. Nothing in it is written so that only a model reads
    /// it, and pieces that the server wants to be shown to the person only are left out.
    pub fn to_model_text(&self) -> String {
        let for_model = self.content.iter().filter(|piece| is_for_model(piece));
        let pieces: Vec<String> = for_model.filter_map(piece_as_text).collect();
        let text = match &self.structured_content {
            Some(value) if pieces.is_empty() => value.to_string(),
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

/// The file with the bytes of a piece.
pub fn file_of_piece(piece: &ToolContent) -> Option<FileRef> {
    FileRef::deserialize(piece.get(PIECE_FILE)?).ok()
}

/// Whether a piece names the model among those whom it is for, or nobody.
pub fn is_for_model(piece: &ToolContent) -> bool {
    let audience = piece.get("annotations").and_then(|annotations| annotations.get("audience"));
    let audience = audience.and_then(Value::as_array).filter(|audience| !audience.is_empty());
    audience.is_none_or(|audience| audience.iter().any(|role| role == "assistant"))
}

/// What a model gets to read of a piece.
pub(crate) fn piece_as_text(piece: &ToolContent) -> Option<String> {
    let field = |name: &str| piece.get(name).and_then(Value::as_str);
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
        other => Some(format!("[{other}]")),
    }
}

/// How a tool call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It ran and gave a result.
    Done,
    /// It failed, or the tool said that it failed.
    Error,
    /// It was sent, and nobody knows whether it ran: the server went away before the answer.
    Unknown,
    /// It was stopped before it was sent or answered.
    Stopped,
    /// It was not made: the person said no, now or for good.
    Denied,
}

impl Outcome {
    /// The word in the database and on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Error => "error",
            Self::Unknown => "unknown",
            Self::Stopped => "stopped",
            Self::Denied => "denied",
        }
    }

    /// What [`Outcome::as_str`] has written.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Done, Self::Error, Self::Unknown, Self::Stopped, Self::Denied]
            .into_iter()
            .find(|outcome| outcome.as_str() == word)
    }
}

/// One call of a tool in an answer, as it stands in `ai_chat_messages.tool_calls`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// Unique within the answer.
    pub id: String,
    /// The tool's own name.
    pub name: String,
    /// The connection it belongs to, by the name its owner gave it.
    pub server_name: String,
    /// The arguments as they were sent; a string when the model wrote something that is not JSON.
    pub arguments: Value,
    /// What came back, if anything did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<ToolResult>,
    /// What went wrong, in words for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How it ended.
    pub outcome: Outcome,
    /// Milliseconds from sending to the answer.
    pub duration_ms: u64,
    /// The address of the app that shows the result, if the tool had one when it was called.
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
