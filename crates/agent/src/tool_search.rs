//! Which of a turn's tools a model gets to read: all of them, or the means to find them.
//!
//! Definitions that fit the context of the model beside a conversation are given as they are. Where they do not fit, the
//! model gets two tools of ours in the place of the list, and what it finds joins them, behind what was there, so that the
//! beginning of the request stays the same for the providers' caches.

mod search;

use std::collections::HashSet;
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

use domain::model::{ModelMessage, ToolSpec};
use domain::text::{cut_to, show_invisible};
use domain::tool::ToolResult;
use domain::tool_arguments;
use serde_json::{Map, Value, json};

use crate::models::ToolLimits;
use crate::tool_selection::{Toolset, spec};
use connections::BoundTool;

/// Name of the tool that finds tools. No other tool of a turn has it.
pub const SEARCH_TOOL: &str = "search_tools";
/// Name of the tool that describes tools.
pub const DETAILS_TOOL: &str = "get_tool_details";

/// Share of the context that tool definitions may take, as a divisor: the other half is for the conversation. It is fixed,
/// so that a growing conversation does not change the list, which providers cache.
const DEFINITIONS_SHARE: usize = 2;
/// Share of the context that tools found by a search may take, as a divisor: 5 %, the upper end of what the protocol's
/// advice to clients names (1 to 5 %).
const FOUND_SHARE: usize = 20;
/// Minimum tokens for tools found by a search, where that much fits.
const MIN_FOUND_TOKENS: usize = 4_000;
/// Maximum tokens of the definitions for a model that cannot search.
const FITTING_TOKENS: usize = 1_000;
/// Approximate number of bytes of JSON per token.
const BYTES_PER_TOKEN: usize = 4;
/// Maximum number of tools that are listed because the message names them or an earlier turn called them.
const MAX_KNOWN_TOOLS: usize = 32;
/// Maximum number of tools that searches add to the list of a turn.
const MAX_LISTED_TOOLS: usize = 128;
/// Maximum number of tools that one search names.
const MAX_RESULTS: usize = 50;
/// Number of tools that a search without a limit names.
const DEFAULT_RESULTS: usize = 10;
/// Maximum number of tools that one call describes.
const MAX_DESCRIBED_TOOLS: usize = 10;
/// Maximum length of a tool's description in search results, in bytes.
const SUMMARY_BYTES: usize = 200;
/// Maximum number of connections that the description of the search names.
const MAX_NAMED_CONNECTIONS: usize = 20;

/// What a model gets to read of a turn's tools.
#[derive(Debug)]
pub enum Offer {
    /// All of them.
    Whole,
    /// The means to find them, and those that were found, by their places in the list.
    Search {
        /// Bytes that what is found may take.
        room: usize,
        /// What is given.
        given: Mutex<Vec<usize>>,
    },
    /// Those that fit the person's words best.
    Fitting(Vec<usize>),
}

impl Offer {
    /// For a message of a person in a conversation.
    pub fn new(toolset: &Toolset, capacity: ToolLimits, message: &str, conversation: &[ModelMessage]) -> Self {
        let tools = toolset.tools();
        let fitting_tokens = capacity.context_tokens / DEFINITIONS_SHARE;
        if !is_heavier(tools, fitting_tokens * BYTES_PER_TOKEN) {
            return Self::Whole;
        }
        let room = MIN_FOUND_TOKENS.max(capacity.context_tokens / FOUND_SHARE).min(fitting_tokens) * BYTES_PER_TOKEN;
        let mut given = called(toolset, conversation);
        for index in named(tools, message) {
            if !given.contains(&index) {
                given.push(index);
            }
        }
        given.truncate(MAX_KNOWN_TOOLS);
        if capacity.can_search {
            return Self::Search { room, given: Mutex::new(given) };
        }
        let mut left = FITTING_TOKENS * BYTES_PER_TOKEN;
        given.extend(search::search(tools, message, None).into_iter().take(MAX_RESULTS));
        let mut seen = HashSet::new();
        given.retain(|&index| {
            let rest = left.checked_sub(weight(&tools[index])).filter(|_| seen.insert(index));
            left = rest.unwrap_or(left);
            rest.is_some()
        });
        Self::Fitting(given)
    }

    /// What the person should know about it.
    pub fn notice(&self, toolset: &Toolset) -> Option<String> {
        let Self::Fitting(given) = self else { return None };
        let names: Vec<&str> = given.iter().map(|&index| toolset.tools()[index].definition.name.as_str()).collect();
        let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        let count = toolset.tools().len();
        Some(format!("{count} tools are more than this model can read. It gets those that fit your words: {names}."))
    }

    /// Returns the specifications of the tools for the model.
    pub fn specs(&self, toolset: &Toolset) -> Vec<ToolSpec> {
        let of = |given: &[usize]| given.iter().map(|&index| spec(&toolset.tools()[index])).collect::<Vec<_>>();
        match self {
            Self::Whole => toolset.tools().iter().map(spec).collect(),
            Self::Fitting(given) => of(given),
            Self::Search { given, .. } => {
                let mut specs = own(toolset);
                specs.extend(of(&lock(given)));
                specs
            }
        }
    }

    /// Makes a call of one of our tools; `None` when it is none.
    pub fn call(&self, toolset: &Toolset, name: &str, arguments: Map<String, Value>) -> Option<ToolResult> {
        let Self::Search { room, given } = self else { return None };
        let result = match name {
            SEARCH_TOOL => tool_arguments::parse(arguments).map(|wish: Wish| find(toolset, &wish, *room, given)),
            DETAILS_TOOL => tool_arguments::parse(arguments).map(|Names { names }| describe(toolset, &names, given)),
            _ => return None,
        };
        Some(result.map_or_else(ToolResult::error, ToolResult::text))
    }
}

#[derive(Debug, serde::Deserialize)]
struct Wish {
    query: String,
    #[serde(default)]
    server: Option<String>,
    #[serde(default)]
    limit: Option<usize>,
}

#[derive(Debug, serde::Deserialize)]
struct Names {
    names: Vec<String>,
}

/// Finds tools; the best of them are given to the model as far as there is room.
fn find(toolset: &Toolset, wish: &Wish, room: usize, given: &Mutex<Vec<usize>>) -> String {
    let tools = toolset.tools();
    let server = wish.server.as_deref().filter(|server| !server.is_empty());
    let found = search::search(tools, &wish.query, server);
    let shown = &found[..found.len().min(wish.limit.unwrap_or(DEFAULT_RESULTS).clamp(1, MAX_RESULTS))];
    if shown.is_empty() {
        return format!("No tool fits. {}", servers(tools));
    }
    let mut given = lock(given);
    let mut left = room.saturating_sub(given.iter().map(|&index| weight(&tools[index])).sum());
    let (mut ready, mut rest) = (String::new(), String::new());
    for &index in shown {
        let tool = &tools[index];
        let fits = left.checked_sub(weight(tool)).filter(|_| given.len() < MAX_LISTED_TOOLS);
        let is_given = given.contains(&index) || fits.is_some();
        if let (false, Some(now)) = (given.contains(&index), fits) {
            left = now;
            given.push(index);
        }
        // Writing to a string cannot fail.
        let _ = writeln!(if is_given { &mut ready } else { &mut rest }, "{}", line(tool));
    }
    let mut text = format!("{} of {} tools fit, the best first.\n", found.len(), tools.len());
    if !ready.is_empty() {
        let _ = write!(text, "\nYou can call these now, by their names:\n{ready}");
    }
    if !rest.is_empty() {
        let _ = write!(text, "\nAsk {DETAILS_TOOL} for these before you call them:\n{rest}");
    }
    text
}

/// Describes tools, and gives them to the model.
fn describe(toolset: &Toolset, names: &[String], given: &Mutex<Vec<usize>>) -> String {
    let mut given = lock(given);
    let about = names.iter().take(MAX_DESCRIBED_TOOLS).map(|name| {
        let Some(index) = toolset.index(name) else {
            return json!({ "name": name, "error": "There is no such tool." });
        };
        let tool = &toolset.tools()[index];
        if !given.contains(&index) && given.len() < MAX_LISTED_TOOLS {
            given.push(index);
        }
        let ToolSpec { name, description, input_schema } = spec(tool);
        json!({ "name": name, "server": tool.server.name, "description": description, "inputSchema": input_schema })
    });
    let about: Vec<Value> = about.collect();
    let more = if names.len() > MAX_DESCRIBED_TOOLS {
        format!("\nOnly {MAX_DESCRIBED_TOOLS} at once.")
    } else {
        String::new()
    };
    format!("You can call these now, by their names.\n{}{more}", Value::Array(about))
}

/// Our two tools, as the model reads them: the same from turn to turn, as long as the list is.
fn own(toolset: &Toolset) -> Vec<ToolSpec> {
    let tool = |name: &str, description: String, properties: Value, required: &[&str]| ToolSpec {
        name: name.to_owned(),
        description,
        input_schema: tool_arguments::object_schema(properties, required),
    };
    let about = format!(
        "Finds tools by words of what they do. The person has more tools than are listed here: {} Search before you say \
         that something cannot be done. What is found can be called by its name afterwards.",
        servers(toolset.tools())
    );
    let query = json!({
        "query": { "type": "string", "description": "A few words of what the tool does, in any order." },
        "server": { "type": "string", "description": "Only tools of this connection." },
        "limit": { "type": "integer", "minimum": 1, "maximum": MAX_RESULTS, "default": DEFAULT_RESULTS },
    });
    let details = format!(
        "Describes up to {MAX_DESCRIBED_TOOLS} tools that {SEARCH_TOOL} named, with the schemas of their arguments."
    );
    let names = json!({ "names": { "type": "array", "items": { "type": "string" }, "maxItems": MAX_DESCRIBED_TOOLS } });
    vec![tool(SEARCH_TOOL, about, query, &["query"]), tool(DETAILS_TOOL, details, names, &["names"])]
}

/// The connections, each with how many tools it has.
fn servers(tools: &[BoundTool]) -> String {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for tool in tools {
        // The tools of a connection follow each other.
        match counts.last_mut() {
            Some((name, count)) if *name == tool.server.name => *count += 1,
            _ => counts.push((&tool.server.name, 1)),
        }
    }
    let mut names: Vec<String> =
        counts.iter().take(MAX_NAMED_CONNECTIONS).map(|(name, count)| format!("{name} ({count})")).collect();
    if counts.len() > MAX_NAMED_CONNECTIONS {
        names.push(format!("{} others", counts.len() - MAX_NAMED_CONNECTIONS));
    }
    format!("{} tools of these connections: {}.", tools.len(), names.join(", "))
}

fn line(tool: &BoundTool) -> String {
    let first = tool.definition.description.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let first = show_invisible(first.trim());
    let cut = cut_to(&first, SUMMARY_BYTES);
    let dots = if cut.len() < first.len() { "…" } else { "" };
    format!("- {} ({}): {cut}{dots}", tool.model_name, tool.server.name)
}

/// Bytes of what a model reads about a tool.
fn weight(tool: &BoundTool) -> usize {
    let definition = &tool.definition;
    tool.model_name.len() + definition.description.len() + definition.input_schema.to_string().len()
}

/// Returns whether the tools exceed a number of bytes. Stops counting as soon as they do.
fn is_heavier(tools: &[BoundTool], bytes: usize) -> bool {
    let mut left = bytes;
    tools.iter().any(|tool| match left.checked_sub(weight(tool)) {
        Some(rest) => {
            left = rest;
            false
        }
        None => true,
    })
}

/// Returns the indices of the tools whose names occur in a message.
fn named(tools: &[BoundTool], message: &str) -> Vec<usize> {
    let is_part = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-' | '.');
    let words = message.split(|character| !is_part(character));
    let words: HashSet<String> =
        words.flat_map(|word| [word, word.trim_matches(['.', '-'])]).map(str::to_ascii_lowercase).collect();
    let is_named = |tool: &BoundTool| {
        [&tool.definition.name, &tool.model_name].iter().any(|name| words.contains(&name.to_ascii_lowercase()))
    };
    tools.iter().enumerate().filter(|(_, tool)| is_named(tool)).map(|(index, _)| index).collect()
}

/// The tools that were called before in a conversation, the first ones first.
fn called(toolset: &Toolset, conversation: &[ModelMessage]) -> Vec<usize> {
    let mut called = Vec::new();
    for message in conversation {
        let ModelMessage::Assistant { calls, .. } = message else { continue };
        for index in calls.iter().filter_map(|call| toolset.index(&call.name)) {
            if !called.contains(&index) {
                called.push(index);
            }
        }
    }
    called
}

fn lock(given: &Mutex<Vec<usize>>) -> MutexGuard<'_, Vec<usize>> {
    given.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
