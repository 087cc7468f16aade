//! Import of ChatGPT's export: a list of conversations, each a tree of messages of which one branch is current. The
//! other branches are imported too.

use std::collections::{HashMap, HashSet};

use domain::json::to_json_text;
use domain::message::{MessageStatus, Part, Role};
use domain::model::ModelSettings;
use domain::{ChatId, MessageId, Timestamp};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use storage::chat_settings::ChatMarks;
use storage::imports::{Aside, ImportedChat, ImportedMessage};

use super::file::{ChatError, check_shape};

#[derive(Deserialize)]
/// A conversation of the export.
struct Conversation {
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    create_time: Option<f64>,
    #[serde(default)]
    update_time: Option<f64>,
    mapping: HashMap<String, Node>,
    #[serde(default)]
    current_node: Option<String>,
    #[serde(default, alias = "conversation_id")]
    id: Option<String>,
    #[serde(default)]
    is_archived: Option<bool>,
}

#[derive(Deserialize)]
/// A node of a conversation's tree, with or without a message.
struct Node {
    #[serde(default)]
    message: Option<Message>,
    #[serde(default)]
    parent: Option<String>,
    #[serde(default)]
    children: Vec<String>,
}

#[derive(Deserialize)]
/// A message of the export.
struct Message {
    #[serde(default)]
    id: Option<String>,
    author: Author,
    #[serde(default)]
    create_time: Option<f64>,
    content: Content,
    #[serde(default)]
    recipient: Option<String>,
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Author {
    role: String,
}

#[derive(Deserialize)]
/// Content of a message; `kind` tells which field is used.
struct Content {
    #[serde(rename = "content_type")]
    kind: String,
    #[serde(default)]
    parts: Vec<Value>,
    #[serde(default)]
    text: Option<String>,
}

#[derive(Default, Deserialize)]
struct Metadata {
    #[serde(default)]
    is_visually_hidden_from_conversation: Option<bool>,
    #[serde(default)]
    model_slug: Option<String>,
}

/// Recipient of a message with which the assistant creates a document ("canvas").
const DOCUMENT_RECIPIENT: &str = "canmore.create_textdoc";

/// Converts a conversation to a [chat](ImportedChat) with the messages of the user and the assistant. Returns `None`
/// if its current branch has no messages.
///
/// # Errors
///
/// Returns the field and the reason if the conversation is malformed.
pub fn chat(row: &RawValue) -> Result<Option<ImportedChat>, ChatError> {
    // Before decoding, because the decoded tree can take many times the memory of its text.
    check_shape(row)?;
    let mut json = serde_json::Deserializer::from_str(row.get());
    let conversation: Conversation = serde_path_to_error::deserialize(&mut json)?;
    let began = moment(conversation.create_time).unwrap_or_default();
    let present = branch(&conversation);
    let mut places = HashMap::new();
    let mut last = Place { message: None, at: began };
    let mut messages = Vec::new();
    for id in &present {
        last = place(&conversation.mapping[*id], last, None, &mut messages);
        places.insert(*id, last);
    }
    if messages.is_empty() {
        return Ok(None);
    }
    let updated_at = moment(conversation.update_time).unwrap_or(last.at);
    let children = children(&conversation.mapping);
    // Walks from the nodes whose position is known to their children. A node that cannot be reached from the root
    // starts a branch of its own.
    let beginning = Place { message: None, at: began };
    let roots = conversation.mapping.iter().filter(|(_, node)| parent(&conversation.mapping, node).is_none());
    let mut next: Vec<(&str, Place)> = roots.map(|(id, _)| (id.as_str(), beginning)).collect();
    next.sort_unstable_by_key(|(id, _)| *id);
    while let Some((id, before)) = next.pop() {
        let here = *places.entry(id).or_insert_with(|| {
            place(&conversation.mapping[id], before, Some(Aside { parent: before.message }), &mut messages)
        });
        next.extend(children.get(id).into_iter().flatten().map(|child| (*child, here)));
    }
    let title = conversation.title.filter(|title| !title.trim().is_empty());
    Ok(Some(ImportedChat {
        model: None,
        settings: ModelSettings::default(),
        id: conversation.id.and_then(|id| id.parse().ok()).unwrap_or_else(ChatId::fresh),
        title: title.unwrap_or_else(|| domain::text::title_of(messages[0].content.trim())),
        created_at: began,
        updated_at,
        marks: ChatMarks { pinned: false, archived: conversation.is_archived == Some(true) },
        messages,
        files: Vec::new(),
    }))
}

/// Position of a node in the tree: the last message up to it, and its time.
#[derive(Clone, Copy)]
struct Place {
    message: Option<MessageId>,
    at: Timestamp,
}

/// Appends a node's message after the position `before`; `aside` is set unless the node is on the current branch.
/// Returns the position after it.
fn place(node: &Node, before: Place, aside: Option<Aside>, messages: &mut Vec<ImportedMessage>) -> Place {
    let Some(imported) = node.message.as_ref().and_then(import_message) else { return before };
    // Messages are ordered by time, so one without a usable time is placed right after its predecessor.
    let own = node.message.as_ref().and_then(|message| moment(message.create_time));
    let at = own.filter(|own| *own > before.at).unwrap_or(Timestamp(before.at.0 + 1));
    let message = Some(imported.id);
    messages.push(ImportedMessage { created_at: at, aside, ..imported });
    Place { message, at }
}

/// Returns a node's parent, if the file contains it.
fn parent<'a>(nodes: &'a HashMap<String, Node>, node: &Node) -> Option<&'a str> {
    let parent = node.parent.as_ref()?;
    nodes.get_key_value(parent).map(|(id, _)| id.as_str())
}

/// Returns the children of each node, in a stable order.
fn children(nodes: &HashMap<String, Node>) -> HashMap<&str, Vec<&str>> {
    let mut children: HashMap<&str, Vec<&str>> = HashMap::new();
    for (id, node) in nodes {
        if let Some(parent) = parent(nodes, node) {
            children.entry(parent).or_default().push(id);
        }
    }
    for ids in children.values_mut() {
        ids.sort_unstable();
    }
    children
}

/// Converts seconds since 1970. Returns `None` for values outside of plausible years.
fn moment(seconds: Option<f64>) -> Option<Timestamp> {
    let seconds = seconds.filter(|seconds| (0.0..4.0e9).contains(seconds))?;
    #[expect(clippy::cast_possible_truncation, reason = "the range was looked at")]
    Some(Timestamp((seconds * 1e6) as i64))
}

/// Returns the nodes from the root to the current one, or to the end of the newest branch if the file names none.
fn branch(conversation: &Conversation) -> Vec<&str> {
    let nodes = &conversation.mapping;
    let mut at = conversation.current_node.clone().filter(|id| nodes.contains_key(id)).or_else(|| {
        let mut id = nodes.iter().find(|(_, node)| node.parent.is_none()).map(|(id, _)| id)?;
        let mut seen = HashSet::new();
        while let Some(child) = nodes.get(id).and_then(|node| node.children.last()) {
            if !seen.insert(id) || !nodes.contains_key(child) {
                break;
            }
            id = child;
        }
        Some(id.clone())
    });
    let mut branch = Vec::new();
    let mut seen = HashSet::new();
    while let Some((id, node)) = at.as_ref().and_then(|id| nodes.get_key_value(id)) {
        // A malformed file may contain a cycle.
        if !seen.insert(id) {
            break;
        }
        branch.push(id.as_str());
        at.clone_from(&node.parent);
    }
    branch.reverse();
    branch
}

/// Converts a message of the user or of the assistant. Returns `None` for tool calls, their results, hidden and empty
/// messages. A document that the assistant created becomes the text of a message.
fn import_message(message: &Message) -> Option<ImportedMessage> {
    let role = match message.author.role.as_str() {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        _ => return None,
    };
    if message.metadata.is_visually_hidden_from_conversation == Some(true) {
        return None;
    }
    let content = match message.recipient.as_deref() {
        None | Some("all") => content_text(&message.content)?,
        Some(DOCUMENT_RECIPIENT) => document_text(&message.content)?,
        Some(_) => return None,
    };
    if content.trim().is_empty() {
        return None;
    }
    let is_answer = role == Role::Assistant;
    let parts = is_answer.then(|| to_json_text(&[Part::Text { text: content.clone() }]));
    let model = message.metadata.model_slug.as_ref().map(|slug| format!("openai/{slug}"));
    Some(ImportedMessage {
        id: message.id.as_ref().and_then(|id| id.parse().ok()).unwrap_or_else(MessageId::fresh),
        role,
        content,
        tool_calls: "[]".to_owned(),
        parts,
        status: is_answer.then_some(MessageStatus::Done),
        error: None,
        model: model.filter(|_| is_answer),
        created_at: Timestamp::default(),
        aside: None,
    })
}

/// Returns the text of a message's content.
fn content_text(content: &Content) -> Option<String> {
    match content.kind.as_str() {
        "text" | "multimodal_text" => Some(content.parts.iter().filter_map(part_text).collect::<Vec<_>>().join("\n\n")),
        "code" => Some(format!("```\n{}\n```", content.text.as_deref()?)),
        _ => None,
    }
}

/// Returns the first version of a document under its name; code is put into a code block.
fn document_text(content: &Content) -> Option<String> {
    #[derive(Deserialize)]
    struct Document {
        #[serde(default)]
        name: String,
        #[serde(default, rename = "type")]
        kind: String,
        content: String,
    }
    let json = content.text.as_deref().or_else(|| content.parts.first()?.as_str())?;
    let Document { name, kind, content } = serde_json::from_str(json).ok()?;
    let body = match kind.strip_prefix("code/") {
        Some(language) => format!("```{language}\n{content}\n```"),
        None => content,
    };
    Some(format!("**{name}**\n\n{body}"))
}

/// Returns the text of a part, or a note of its type.
fn part_text(part: &Value) -> Option<String> {
    if let Some(text) = part.as_str() {
        return (!text.is_empty()).then(|| text.to_owned());
    }
    if let Some(text) = part.get("text").and_then(Value::as_str) {
        return Some(text.to_owned());
    }
    let kind = part.get("content_type")?.as_str()?;
    Some(format!("[{}]", kind.split('_').next().unwrap_or(kind)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(conversation: &Value) -> Result<Option<ImportedChat>, ChatError> {
        chat(&RawValue::from_string(conversation.to_string()).unwrap())
    }

    fn message(role: &str, text: &str, parent: &str, more: Value) -> Value {
        let mut message = json!({ "author": { "role": role }, "content": { "content_type": "text", "parts": [text] } });
        for (name, value) in more.as_object().unwrap() {
            message[name] = value.clone();
        }
        json!({ "message": message, "parent": parent, "children": [] })
    }

    #[test]
    fn the_present_branch_is_read_without_what_nobody_saw() {
        let conversation = json!({
            "title": "Trip", "create_time": 1_700_000_000.5, "update_time": 1_700_000_100.0, "current_node": "e",
            "conversation_id": "01890a5d-ac96-774b-bcce-b302099a8057", "is_archived": true, "plugin_ids": null,
            "mapping": {
                "root": { "message": null, "parent": null, "children": ["s"] },
                "s": message("system", "be good", "root", json!({})),
                "u": message("user", "Where?", "s", json!({ "create_time": 1_700_000_001.0 })),
                "x": message("assistant", "an older answer", "u", json!({})),
                "c": message("assistant", "search(1)", "u", json!({ "recipient": "browser" })),
                "h": message("user", "hidden", "c", json!({ "metadata": { "is_visually_hidden_from_conversation": true } })),
                "e": message("assistant", "Lisbon", "h", json!({ "metadata": { "model_slug": "gpt-4o" },
                    "content": { "content_type": "multimodal_text", "parts": [{ "content_type": "image_asset_pointer" }, "Lisbon"] } })),
            }
        });
        let chat = read(&conversation).unwrap().unwrap();
        assert_eq!((chat.title.as_str(), chat.marks.archived), ("Trip", true));
        assert_eq!(chat.id.to_string(), "01890a5d-ac96-774b-bcce-b302099a8057");
        let messages: Vec<(Role, &str)> =
            chat.messages.iter().map(|message| (message.role, message.content.as_str())).collect();
        let other = (Role::Assistant, "an older answer");
        assert_eq!(messages, [(Role::User, "Where?"), (Role::Assistant, "[image]\n\nLisbon"), other]);
        let aside = chat.messages[2].aside.expect("it is on another branch");
        assert_eq!(aside.parent, Some(chat.messages[0].id));
        assert!(chat.messages[1].aside.is_none() && chat.messages[2].created_at > chat.messages[0].created_at);
        assert_eq!(chat.messages[1].model.as_deref(), Some("openai/gpt-4o"));
        assert!(chat.messages[0].created_at < chat.messages[1].created_at);
    }

    #[test]
    fn branches_of_branches_and_documents_come_in() {
        let document = json!({ "recipient": "canmore.create_textdoc", "content": { "content_type": "code",
            "text": "{\"name\":\"Sum\",\"type\":\"code/python\",\"content\":\"print(1)\"}" } });
        let conversation = json!({ "current_node": "b2", "mapping": {
            "a": message("user", "one", "", json!({})),
            "b1": message("assistant", "first", "a", json!({})),
            "c1": message("user", "more", "b1", json!({})),
            "d1": message("assistant", "", "c1", document),
            "t": message("tool", "made", "d1", json!({})),
            "e1": message("assistant", "Here it is.", "t", json!({})),
            "b2": message("assistant", "second", "a", json!({})),
            "z": message("user", "another beginning", "gone", json!({})),
        } });
        let chat = read(&conversation).unwrap().unwrap();
        let named = |content: &str| chat.messages.iter().find(|message| message.content == content).unwrap();
        let after = |content: &str| named(content).aside.unwrap().parent;
        assert_eq!(chat.messages.iter().filter(|message| message.aside.is_none()).count(), 2);
        assert_eq!(after("first"), Some(named("one").id));
        assert_eq!(after("more"), Some(named("first").id));
        let document = "**Sum**\n\n```python\nprint(1)\n```";
        assert_eq!(after(document), Some(named("more").id));
        assert_eq!(after("Here it is."), Some(named(document).id));
        assert_eq!(after("another beginning"), None);
        assert_eq!(chat.messages.len(), 7);
    }

    #[test]
    fn odd_trees_end() {
        let round = json!({ "mapping": { "a": message("user", "x", "b", json!({})), "b": message("user", "y", "a", json!({})) }, "current_node": "a" });
        assert_eq!(read(&round).unwrap().unwrap().messages.len(), 2);
        assert!(read(&json!({ "mapping": {} })).unwrap().is_none());
        assert!(read(&json!({ "mapping": 1 })).unwrap_err().to_string().starts_with("mapping: "));
        let forest = json!({ "title": " ", "mapping": { "a": { "parent": null, "children": ["b", "gone"] }, "b": message("user", "Hello there", "a", json!({})) } });
        assert!(read(&forest).unwrap().is_none(), "the newest branch has nothing in it");
    }
}
