//! Presentation of a turn's tools to a model: all definitions, or tools that search them.
//!
//! Definitions are listed completely if they fit the context of the model beside a conversation. Otherwise the model gets the
//! tools [`SEARCH_TOOL`] and [`DETAILS_TOOL`]. Tools that it finds are appended to the list, so that the beginning of the
//! request stays the same for the providers' caches.

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

/// Presentation of a turn's tools to a model. Tools are referred to by their indices in the [`Toolset`].
#[derive(Debug)]
pub enum ToolPresentation {
    /// All tools are listed.
    All,
    /// The model can search the tools; those that it has found are listed.
    Search {
        /// Maximum size of the listed definitions, in bytes.
        max_bytes: usize,
        /// Listed tools.
        listed: Mutex<Vec<usize>>,
    },
    /// The tools that match the user's message best are listed, because the model cannot search.
    BestMatches(Vec<usize>),
}

impl ToolPresentation {
    /// Chooses the presentation for a message of the user in a conversation.
    pub fn new(toolset: &Toolset, capacity: ToolLimits, message: &str, conversation: &[ModelMessage]) -> Self {
        let tools = toolset.tools();
        let fitting_tokens = capacity.context_tokens / DEFINITIONS_SHARE;
        if !exceeds_bytes(tools, fitting_tokens * BYTES_PER_TOKEN) {
            return Self::All;
        }
        let max_bytes =
            MIN_FOUND_TOKENS.max(capacity.context_tokens / FOUND_SHARE).min(fitting_tokens) * BYTES_PER_TOKEN;
        // Tools of earlier turns stay listed: the model saw them called, and would call them again without a search.
        let mut listed = called_tools(toolset, conversation);
        for index in tools_named_in(tools, message) {
            if !listed.contains(&index) {
                listed.push(index);
            }
        }
        listed.truncate(MAX_KNOWN_TOOLS);
        if capacity.can_search {
            return Self::Search { max_bytes, listed: Mutex::new(listed) };
        }
        let mut left = FITTING_TOKENS * BYTES_PER_TOKEN;
        listed.extend(search::search(tools, message, None).into_iter().take(MAX_RESULTS));
        let mut seen = HashSet::new();
        listed.retain(|&index| {
            let rest = left.checked_sub(definition_bytes(&tools[index])).filter(|_| seen.insert(index));
            left = rest.unwrap_or(left);
            rest.is_some()
        });
        Self::BestMatches(listed)
    }

    /// Returns a notice for the user if tools are omitted.
    pub fn notice(&self, toolset: &Toolset) -> Option<String> {
        let Self::BestMatches(listed) = self else { return None };
        let names: Vec<&str> = listed.iter().map(|&index| toolset.tools()[index].definition.name.as_str()).collect();
        let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        let count = toolset.tools().len();
        Some(format!("{count} tools are more than this model can read. It gets those that fit your words: {names}."))
    }

    /// Returns the specifications of the tools for the model.
    pub fn specs(&self, toolset: &Toolset) -> Vec<ToolSpec> {
        let of = |listed: &[usize]| listed.iter().map(|&index| spec(&toolset.tools()[index])).collect::<Vec<_>>();
        match self {
            Self::All => toolset.tools().iter().map(spec).collect(),
            Self::BestMatches(listed) => of(listed),
            Self::Search { listed, .. } => {
                let mut specs = search_tool_specs(toolset);
                specs.extend(of(&lock(listed)));
                specs
            }
        }
    }

    /// Executes a call of one of the search tools; `None` for other tools.
    pub fn call(&self, toolset: &Toolset, name: &str, arguments: Map<String, Value>) -> Option<ToolResult> {
        let Self::Search { max_bytes, listed } = self else { return None };
        let result = match name {
            SEARCH_TOOL => tool_arguments::parse(arguments)
                .map(|arguments: SearchArguments| find(toolset, &arguments, *max_bytes, listed)),
            DETAILS_TOOL => {
                tool_arguments::parse(arguments).map(|DetailsArguments { names }| describe(toolset, &names, listed))
            }
            _ => return None,
        };
        Some(result.map_or_else(|error| ToolResult::error(error.to_string()), ToolResult::text))
    }
}

#[derive(Debug, serde::Deserialize)]
struct SearchArguments {
    query: String,
    #[serde(default)]
    server: Option<String>,
    #[serde(default)]
    limit: Option<usize>,
}

#[derive(Debug, serde::Deserialize)]
struct DetailsArguments {
    names: Vec<String>,
}

/// Searches the tools, and lists the best matches for the model as far as there is room.
fn find(toolset: &Toolset, arguments: &SearchArguments, max_bytes: usize, listed: &Mutex<Vec<usize>>) -> String {
    let tools = toolset.tools();
    let server = arguments.server.as_deref().filter(|server| !server.is_empty());
    let found = search::search(tools, &arguments.query, server);
    let shown = &found[..found.len().min(arguments.limit.unwrap_or(DEFAULT_RESULTS).clamp(1, MAX_RESULTS))];
    if shown.is_empty() {
        return format!("No tool fits. {}", servers_sentence(tools));
    }
    let mut listed = lock(listed);
    let mut left = max_bytes.saturating_sub(listed.iter().map(|&index| definition_bytes(&tools[index])).sum());
    let (mut callable, mut rest) = (String::new(), String::new());
    for &index in shown {
        let tool = &tools[index];
        let fits = left.checked_sub(definition_bytes(tool)).filter(|_| listed.len() < MAX_LISTED_TOOLS);
        let is_listed = listed.contains(&index) || fits.is_some();
        // A tool that is too large does not end the list, because a smaller one after it may fit.
        if let (false, Some(now)) = (listed.contains(&index), fits) {
            left = now;
            listed.push(index);
        }
        // Writing to a string cannot fail.
        let _ = writeln!(if is_listed { &mut callable } else { &mut rest }, "{}", summary_line(tool));
    }
    let mut text = format!("{} of {} tools fit, the best first.\n", found.len(), tools.len());
    if !callable.is_empty() {
        let _ = write!(text, "\nYou can call these now, by their names:\n{callable}");
    }
    if !rest.is_empty() {
        let _ = write!(text, "\nAsk {DETAILS_TOOL} for these before you call them:\n{rest}");
    }
    text
}

/// Describes tools, and lists them for the model.
fn describe(toolset: &Toolset, names: &[String], listed: &Mutex<Vec<usize>>) -> String {
    let mut listed = lock(listed);
    let about = names.iter().take(MAX_DESCRIBED_TOOLS).map(|name| {
        let Some(index) = toolset.index(name) else {
            return json!({ "name": name, "error": "There is no such tool." });
        };
        let tool = &toolset.tools()[index];
        if !listed.contains(&index) && listed.len() < MAX_LISTED_TOOLS {
            listed.push(index);
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

/// Returns the specifications of the search tools. They are the same from turn to turn while the connections are.
fn search_tool_specs(toolset: &Toolset) -> Vec<ToolSpec> {
    let tool = |name: &str, description: String, properties: Value, required: &[&str]| ToolSpec {
        name: name.to_owned(),
        description,
        input_schema: tool_arguments::object_schema(properties, required),
    };
    let about = format!(
        "Finds tools by words of what they do. The user has more tools than are listed here: {} Search before you say \
         that something cannot be done. What is found can be called by its name afterwards.",
        servers_sentence(toolset.tools())
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

/// Returns a sentence with the connections and their numbers of tools.
fn servers_sentence(tools: &[BoundTool]) -> String {
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

/// Returns a line of search results about a tool.
fn summary_line(tool: &BoundTool) -> String {
    let first = tool.definition.description.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let first = show_invisible(first.trim());
    let cut = cut_to(&first, SUMMARY_BYTES);
    let dots = if cut.len() < first.len() { "…" } else { "" };
    format!("- {} ({}): {cut}{dots}", tool.model_name, tool.server.name)
}

/// Returns the size of a tool's definition for a model, in bytes.
fn definition_bytes(tool: &BoundTool) -> usize {
    let definition = &tool.definition;
    tool.model_name.len() + definition.description.len() + definition.input_schema.to_string().len()
}

/// Returns whether the tools exceed a number of bytes. Stops counting as soon as they do.
fn exceeds_bytes(tools: &[BoundTool], bytes: usize) -> bool {
    let mut left = bytes;
    tools.iter().any(|tool| match left.checked_sub(definition_bytes(tool)) {
        Some(rest) => {
            left = rest;
            false
        }
        None => true,
    })
}

/// Returns the indices of the tools whose names occur in a message.
fn tools_named_in(tools: &[BoundTool], message: &str) -> Vec<usize> {
    let is_part = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-' | '.');
    let words = message.split(|character| !is_part(character));
    let words: HashSet<String> =
        words.flat_map(|word| [word, word.trim_matches(['.', '-'])]).map(str::to_ascii_lowercase).collect();
    let is_named = |tool: &BoundTool| {
        [&tool.definition.name, &tool.model_name].iter().any(|name| words.contains(&name.to_ascii_lowercase()))
    };
    tools.iter().enumerate().filter(|(_, tool)| is_named(tool)).map(|(index, _)| index).collect()
}

/// Returns the tools that were called in a conversation, in the order of their first calls.
fn called_tools(toolset: &Toolset, conversation: &[ModelMessage]) -> Vec<usize> {
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

fn lock(listed: &Mutex<Vec<usize>>) -> MutexGuard<'_, Vec<usize>> {
    listed.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
