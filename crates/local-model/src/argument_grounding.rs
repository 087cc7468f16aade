//! Check that a tool call contains nothing invented: a small model fills a required argument with something plausible,
//! such as `your_file_id_here` or `path/to/file`, if nobody has said what it should be.
//!
//! A text is grounded if it stands in the conversation, or follows from it. How much has to stand there depends on what
//! the text is: an id, a path or an address completely, a query by its words, a longer text not at all, because the model
//! is asked to write it.
//!
//! Of 85 development requests about twelve further servers, the check changes the call of 17. Without it, all 17 are
//! wrong; with it, one is.

use domain::model::{ModelMessage, Request, ToolSpec};
use serde_json::{Map, Value};

use crate::language::{Language, detect_language, words};
use crate::tool_list::required_arguments;

/// Parts of texts that stand for something to be filled in.
const PLACEHOLDERS: [&str; 22] = [
    "your_",
    "your-",
    "yourusername",
    "_here",
    "-here",
    "placeholder",
    "example",
    "path/to",
    "home/user",
    "/users/user",
    "c:\\users\\user",
    "lorem",
    "xxxx",
    "insert_",
    "insert ",
    "foobar",
    "foo.",
    "some_",
    "unknown",
    "not specified",
    "unspecified",
    "12345",
];

/// Whole texts that stand for something to be filled in.
const PLACEHOLDER_VALUES: [&str; 18] = [
    "string",
    "text",
    "value",
    "name",
    "title",
    "query",
    "id",
    "url",
    "path",
    "file",
    "filename",
    "file_name",
    "foo",
    "bar",
    "null",
    "none",
    "n/a",
    "...",
];

/// Parts of argument names of identifiers.
const ID_NAMES: [&str; 10] = ["id", "ids", "key", "token", "sha", "hash", "uuid", "guid", "handle", "number"];

/// Parts of argument names of paths.
const PATH_NAMES: [&str; 6] = ["path", "paths", "file", "filename", "folder", "directory"];

/// Minimum number of words of a text that the model is asked to write.
const MIN_WRITTEN_WORDS: usize = 5;

/// Minimum number of equal letters at the beginning of two words of the same stem.
const STEM_LETTERS: usize = 3;

/// Required argument that the user has to give.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MissingArgument {
    /// Name of the argument.
    pub name: String,
    /// Its description in the schema; may be empty.
    pub description: String,
}

/// Result of a [check](check_arguments).
#[derive(Debug, PartialEq)]
pub(crate) enum GroundedArguments {
    /// JSON text of the arguments, without invented optional ones.
    Grounded(String),
    /// A required argument is invented.
    Missing(MissingArgument),
}

/// Returns the texts that arguments can come from: the conversation and the user's instructions.
pub(crate) fn conversation_text(request: &Request) -> String {
    let mut text = request.system.clone();
    for message in &request.messages {
        text.push('\n');
        match message {
            ModelMessage::User { text: said, .. } | ModelMessage::ToolResult { text: said, .. } => text.push_str(said),
            ModelMessage::Assistant { text: said, calls, .. } => {
                text.push_str(said);
                for call in calls {
                    text.push('\n');
                    text.push_str(&call.arguments);
                }
            }
        }
    }
    text
}

/// Checks the arguments of a call against the texts that they can come from.
pub(crate) fn check_arguments(arguments: &str, tool: &ToolSpec, sources: &str) -> GroundedArguments {
    // Incomplete arguments are rejected later.
    let Ok(Value::Object(mut fields)) = serde_json::from_str::<Value>(arguments) else {
        return GroundedArguments::Grounded(arguments.to_owned());
    };
    let sources = Sources::new(sources);
    let schema = &tool.input_schema;
    let required = required_arguments(schema);
    let properties = schema.get("properties").and_then(Value::as_object);
    let mut missing = None;
    fields.retain(|name, value| {
        let property = properties.and_then(|properties| properties.get(name)).unwrap_or(&Value::Null);
        repair_path(value, &sources);
        if is_grounded(name, value, property, &sources) {
            return true;
        }
        if required.contains(&name.as_str()) && missing.is_none() {
            let description = property.get("description").and_then(Value::as_str).unwrap_or_default().to_owned();
            missing = Some(MissingArgument { name: name.clone(), description });
        }
        // An optional argument is left out: the server has a default.
        false
    });
    match missing {
        Some(missing) => GroundedArguments::Missing(missing),
        None => GroundedArguments::Grounded(Value::Object(fields).to_string()),
    }
}

/// Texts that arguments can come from, prepared for comparison.
struct Sources {
    /// In lower case, with single spaces.
    text: String,
    words: Vec<String>,
    /// Whether the conversation is in English, as names and queries for tools usually are.
    is_english: bool,
}

impl Sources {
    fn new(text: &str) -> Self {
        Self {
            text: normalize(text),
            words: words(&without_accents(&text.to_lowercase())),
            is_english: detect_language(text) == Language::English,
        }
    }

    fn contains(&self, text: &str) -> bool {
        let text = normalize(text);
        // A short text such as "a" stands in any other, so it has to be a word.
        if text.chars().count() < 4 { self.has_words(&text, 1.0) } else { self.text.contains(&text) }
    }

    /// Returns whether the sources contain at least this share of the words of a text, by their stems.
    fn has_words(&self, text: &str, share: f32) -> bool {
        let found = words(&without_accents(&split_names(text).to_lowercase()));
        let count = found.iter().filter(|word| self.has_word(word)).count();
        !found.is_empty() && count > 0 && count as f32 >= share * found.len() as f32
    }

    fn has_word(&self, word: &str) -> bool {
        self.words.iter().any(|other| other == word || have_same_stem(other, word))
    }
}

/// Returns whether two words have at least half of the shorter one in common, from the beginning.
fn have_same_stem(one: &str, other: &str) -> bool {
    let common = one.chars().zip(other.chars()).take_while(|(one, other)| one == other).count();
    let shorter = one.chars().count().min(other.chars().count());
    common >= STEM_LETTERS && common * 2 >= shorter
}

/// Returns a text in lower case, with single spaces.
pub(crate) fn normalize(text: &str) -> String {
    text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Separates the words of names in any of the usual cases.
fn split_names(text: &str) -> String {
    let mut spaced = String::with_capacity(text.len());
    let mut after_lower = false;
    for character in text.chars() {
        if after_lower && character.is_uppercase() {
            spaced.push(' ');
        }
        after_lower = character.is_lowercase();
        spaced.push(if character == '_' { ' ' } else { character });
    }
    spaced
}

/// Replaces accented Latin letters, because a model writes `Munich` for `München`.
fn without_accents(text: &str) -> String {
    text.chars()
        .map(|character| match character {
            'á' | 'à' | 'â' | 'ä' | 'ã' | 'å' => 'a',
            'é' | 'è' | 'ê' | 'ë' => 'e',
            'í' | 'ì' | 'î' | 'ï' => 'i',
            'ó' | 'ò' | 'ô' | 'ö' | 'õ' | 'ø' => 'o',
            'ú' | 'ù' | 'û' | 'ü' => 'u',
            'ñ' => 'n',
            'ç' => 'c',
            other => other,
        })
        .collect()
}

/// Returns whether a value of an argument follows from the sources.
fn is_grounded(name: &str, value: &Value, schema: &Value, sources: &Sources) -> bool {
    if is_in_schema(value, schema) {
        return true;
    }
    match value {
        Value::String(text) => is_text_grounded(name, text, schema, sources),
        Value::Array(items) => {
            let item_schema = schema.get("items").unwrap_or(&Value::Null);
            items.iter().all(|item| is_grounded(name, item, item_schema, sources))
        }
        Value::Object(fields) => are_fields_grounded(fields, schema, sources),
        // Numbers are often computed or known, such as the position of a city.
        Value::Number(_) | Value::Bool(_) | Value::Null => true,
    }
}

/// Returns whether the fields of an object follow from the sources. Objects describe things in the model's words, such as
/// the kind of an entity, so that only identifiers, paths and addresses are compared.
fn are_fields_grounded(fields: &Map<String, Value>, schema: &Value, sources: &Sources) -> bool {
    let property = |name: &str| schema.get("properties").and_then(|properties| properties.get(name));
    fields.iter().all(|(name, value)| {
        let is_described = value.as_str().is_some_and(|text| {
            !text.trim().is_empty() && !is_placeholder(text.trim()) && !is_identifying(name, text.trim())
        });
        is_described || is_grounded(name, value, property(name).unwrap_or(&Value::Null), sources)
    })
}

/// Returns whether the schema itself offers a value: as a choice, a default or a constant.
fn is_in_schema(value: &Value, schema: &Value) -> bool {
    let is_listed = |key: &str| schema.get(key).and_then(Value::as_array).is_some_and(|values| values.contains(value));
    is_listed("enum") || ["default", "const"].iter().any(|key| schema.get(*key) == Some(value))
}

fn is_text_grounded(name: &str, text: &str, schema: &Value, sources: &Sources) -> bool {
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return is_written_by_model(name);
    }
    if sources.contains(trimmed) {
        return true;
    }
    if is_placeholder(trimmed) {
        return false;
    }
    if is_named(name, &ID_NAMES) {
        return false;
    }
    if is_web_address(trimmed) {
        return is_address_grounded(trimmed, sources);
    }
    // Before paths, which look alike: Europe/Berlin.
    if is_time_zone(trimmed, name, schema) {
        return true;
    }
    if is_path(trimmed) || is_named(name, &PATH_NAMES) {
        return is_path_grounded(trimmed, sources);
    }
    if is_derived(trimmed, name, schema, sources) {
        return true;
    }
    // A word in another language does not stand in the message, so that nothing can be said about it.
    !sources.is_english || is_written_by_model(name) || sources.has_words(trimmed, 1.0 / 3.0) || is_long(trimmed)
}

/// Returns whether an argument identifies a thing, so that a wrong one is about another thing.
fn is_identifying(name: &str, text: &str) -> bool {
    is_named(name, &ID_NAMES) || is_web_address(text) || is_path(text)
}

/// Returns whether one of the words of an argument's name is among these.
fn is_named(name: &str, parts: &[&str]) -> bool {
    words(&split_names(name)).iter().any(|word| parts.contains(&word.as_str()))
}

fn is_placeholder(text: &str) -> bool {
    let lower = text.to_lowercase();
    let is_bracketed = (lower.starts_with('<') && lower.ends_with('>') && !lower.contains("</"))
        || (lower.starts_with('[') && lower.ends_with(']') && lower.len() < 40)
        || (lower.starts_with("{{") && lower.ends_with("}}"));
    is_bracketed
        || PLACEHOLDER_VALUES.contains(&lower.as_str())
        || (!is_long(&lower) && PLACEHOLDERS.iter().any(|part| lower.contains(part)))
}

/// Returns whether an argument is a text that the model is asked to write.
fn is_written_by_model(name: &str) -> bool {
    let written = [
        "content",
        "contents",
        "body",
        "text",
        "message",
        "description",
        "summary",
        "thought",
        "code",
        "html",
        "markdown",
        "note",
        "notes",
        "prompt",
        "comment",
        "reason",
        "observation",
        "observations",
        "sql",
        "command",
        "script",
        "pattern",
        "regex",
        "expression",
        "formula",
        "html",
    ];
    words(&split_names(name)).iter().any(|word| written.contains(&word.as_str()))
}

fn is_long(text: &str) -> bool {
    text.split_whitespace().count() >= MIN_WRITTEN_WORDS
}

fn is_web_address(text: &str) -> bool {
    text.contains("://") || text.starts_with("www.")
}

/// Returns whether the host of an address is named, as in "the page of the BBC" for `https://www.bbc.com`.
fn is_address_grounded(address: &str, sources: &Sources) -> bool {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let labels: Vec<&str> = host.trim_start_matches("www.").split('.').collect();
    labels.iter().take(labels.len().saturating_sub(1).max(1)).any(|label| sources.has_word(&label.to_lowercase()))
}

/// Returns whether a text can only be a path: `km/h` and `owner/repository` are none.
fn is_path(text: &str) -> bool {
    let has_start = ["/", "~", "./", "../"].iter().any(|start| text.starts_with(start)) || text.contains(":\\");
    let last = text.rsplit('/').next().unwrap_or_default();
    !text.contains(' ') && (has_start || (text.contains('/') && last.contains('.')))
}

/// Returns whether the last name of a path and its folders are named; `.` is where the server is.
fn is_path_grounded(path: &str, sources: &Sources) -> bool {
    let mut names = path.split(['/', '\\']).filter(|name| !matches!(*name, "" | "." | "~")).peekable();
    if names.peek().is_none() {
        return !matches!(path, "/" | "~") || sources.has_words("root home", 0.5);
    }
    names.all(|name| sources.text.contains(&name.to_lowercase()) || sources.has_words(name, 0.5))
}

/// Reduces a path to what the user has named of it, if only the folders before that are invented.
fn repair_path(value: &mut Value, sources: &Sources) {
    let Value::String(path) = value else { return };
    if is_web_address(path) || !is_path(path) || sources.contains(path) {
        return;
    }
    let is_invented = is_placeholder(path) || !is_path_grounded(path, sources);
    let last = path.rsplit(['/', '\\']).find(|name| !name.is_empty()).unwrap_or_default();
    // A name with an ending is a file that the user has called by its name.
    if is_invented && last.contains('.') && sources.text.contains(&last.to_lowercase()) {
        *path = last.to_owned();
    }
}

/// Returns whether a short text is computed from the message or is a code for what it says: a date, an expression, a
/// currency or a unit.
fn is_derived(text: &str, name: &str, schema: &Value, sources: &Sources) -> bool {
    let letters = text.chars().filter(|character| character.is_alphabetic()).count();
    let digits = text.chars().filter(char::is_ascii_digit).count();
    let count = text.chars().count();
    // Dates, times and calculations are mostly digits and signs.
    let is_computed = digits > 0 && letters * 2 <= count;
    // Codes: EUR, km, UTC, de-DE. Units have symbols.
    let is_code = letters <= 3 && digits == 0 && count <= 5;
    // Units: the model writes "celsius" for "°C".
    let is_unit = is_about("unit", name, schema) || matches!(name, "from" | "to");
    let has_initial = text.chars().next().is_some_and(|first| {
        sources.words.iter().any(|word| word.chars().count() <= 3 && word.starts_with(first.to_ascii_lowercase()))
    });
    is_computed || is_code || (is_unit && has_initial)
}

/// Returns whether an argument is a time zone, by its IANA name or an abbreviation.
fn is_time_zone(text: &str, name: &str, schema: &Value) -> bool {
    (text.contains('/') || text.chars().count() <= 5)
        && !text.starts_with('/')
        && (is_about("zone", name, schema) || is_about("iana", name, schema))
}

/// Returns whether the name or the description of an argument contains a word.
fn is_about(word: &str, name: &str, schema: &Value) -> bool {
    let description = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    [name, description].iter().any(|text| text.to_lowercase().contains(word))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The folder that small models invent most often.
    const INVENTED_FOLDER: &str = concat!("/home", "/user");

    fn check(arguments: &Value, message: &str) -> GroundedArguments {
        let properties = json!({
            "path": { "type": "string", "description": "Path of the file." },
            "file_id": { "type": "string" },
            "paths": { "type": "array", "items": { "type": "string" } },
            "url": { "type": "string" },
            "query": { "type": "string" },
            "city": { "type": "string" },
            "content": { "type": "string" },
            "timezone": { "type": "string", "description": "IANA time zone" },
            "unit": { "type": "string", "enum": ["celsius", "fahrenheit"] },
            "sort": { "type": "string", "default": "name" },
            "from": { "type": "string" },
            "expression": { "type": "string" },
            "date": { "type": "string" },
            "count": { "type": "number" },
        });
        let required: Vec<&String> = arguments.as_object().unwrap().keys().collect();
        let input_schema = json!({ "type": "object", "properties": properties, "required": required });
        let tool = ToolSpec { name: "any".to_owned(), description: String::new(), input_schema };
        check_arguments(&arguments.to_string(), &tool, message)
    }

    fn kept(arguments: &Value, message: &str) -> Value {
        match check(arguments, message) {
            GroundedArguments::Grounded(arguments) => serde_json::from_str(&arguments).unwrap(),
            GroundedArguments::Missing(missing) => panic!("{missing:?}: {arguments} from {message:?}"),
        }
    }

    #[test]
    fn invented_arguments_are_missing() {
        for (arguments, message) in [
            (json!({ "file_id": "your_file_id_here" }), "Show me the file"),
            (json!({ "file_id": "1a2b3c4d" }), "Share the report with Anna"),
            (json!({ "path": INVENTED_FOLDER }), "List my files"),
            (json!({ "path": "path/to/file" }), "Open the file"),
            (json!({ "path": "/" }), "List my files"),
            (
                json!({ "paths": ["/tmp/a.txt", format!("{INVENTED_FOLDER}/b.txt")] }),
                "Read /tmp/a.txt and the other one",
            ),
            (json!({ "url": "https://example.com" }), "Fetch the page"),
            (json!({ "url": "https://www.weather.org/x" }), "Read the news page"),
            (json!({ "city": "San Francisco" }), "What is the weather like?"),
            (json!({ "city": "<city>" }), "What is the weather like?"),
            (json!({ "query": "string" }), "Search something for me"),
            (json!({ "query": "" }), "Search"),
        ] {
            assert!(
                matches!(check(&arguments, message), GroundedArguments::Missing(_)),
                "{arguments} from {message:?}"
            );
        }
    }

    #[test]
    fn names_the_missing_argument() {
        let missing = MissingArgument { name: "path".to_owned(), description: "Path of the file.".to_owned() };
        assert_eq!(check(&json!({ "path": INVENTED_FOLDER }), "List it"), GroundedArguments::Missing(missing));
    }

    #[test]
    fn arguments_from_the_conversation_are_kept() {
        for (arguments, message) in [
            (json!({ "path": "/srv/notes.txt" }), "Read /srv/notes.txt"),
            (json!({ "path": "notes/todo.md" }), "Open the todo.md in my notes"),
            (json!({ "path": "." }), "List the files"),
            (json!({ "file_id": "1a2b3c" }), "Show the file 1a2b3c"),
            (json!({ "url": "https://www.bbc.com/news" }), "What is on the BBC page?"),
            (json!({ "url": "https://example.com" }), "Fetch https://example.com"),
            (json!({ "query": "electric cars" }), "Find articles about the electric car"),
            (json!({ "query": "cats" }), "Suche bitte nach Katzen und zeig mir alles"),
            (json!({ "city": "Munich" }), "What is the weather in München?"),
            (json!({ "content": "Roses are red" }), "Write a short poem into a.txt"),
            (json!({ "timezone": "Asia/Tokyo" }), "What time is it in Japan?"),
            (json!({ "unit": "celsius", "sort": "name" }), "How warm is it?"),
            (json!({ "from": "celsius" }), "Convert 20 C to F"),
            (json!({ "from": "EUR" }), "Change 5 euros into dollars"),
            (json!({ "expression": "0.15*80" }), "What is 15% of 80?"),
            (json!({ "date": "2026-11-28" }), "What happens tomorrow?"),
            (json!({ "count": 12 }), "Give me a dozen"),
        ] {
            assert_eq!(kept(&arguments, message), arguments, "{message}");
        }
    }

    #[test]
    fn invented_folders_are_removed() {
        assert_eq!(kept(&json!({ "path": "/path/to/notes.txt" }), "Read notes.txt"), json!({ "path": "notes.txt" }));
        assert_eq!(
            kept(&json!({ "path": format!("{INVENTED_FOLDER}/a.csv") }), "Show a.csv"),
            json!({ "path": "a.csv" })
        );
    }

    #[test]
    fn invented_optional_arguments_are_left_out() {
        let input_schema = json!({ "type": "object", "properties": { "city": {}, "token": {} }, "required": ["city"] });
        let tool = ToolSpec { name: "any".to_owned(), description: String::new(), input_schema };
        let arguments = r#"{"city":"Rome","token":"your_token_here"}"#;
        let checked = check_arguments(arguments, &tool, "Rain in Rome?");
        assert_eq!(checked, GroundedArguments::Grounded(r#"{"city":"Rome"}"#.to_owned()));
        let incomplete = r#"{"city": "Ro"#;
        assert_eq!(check_arguments(incomplete, &tool, ""), GroundedArguments::Grounded(incomplete.to_owned()));
    }

    #[test]
    fn conversation_contains_results_and_earlier_calls() {
        let call = domain::model::ModelCall {
            id: "1".to_owned(),
            name: "find".to_owned(),
            arguments: r#"{"name":"budget"}"#.to_owned(),
        };
        let result = ModelMessage::ToolResult {
            call_id: "1".to_owned(),
            name: "find".to_owned(),
            text: "id 9f8e".to_owned(),
            is_error: false,
            files: Vec::new(),
        };
        let messages = vec![ModelMessage::user("Find it"), ModelMessage::assistant("", vec![call]), result];
        let text = conversation_text(&Request { messages, ..Request::default() });
        assert!(["Find it", "budget", "id 9f8e"].iter().all(|part| text.contains(part)), "{text}");
    }
}
