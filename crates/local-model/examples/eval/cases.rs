//! The cases: what is asked, with which tools, and what counts as right.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use domain::model::{
    ChatFacts, ModelCall, ModelMessage, Parameters, Request, SYSTEM_PROMPT, ServerFacts, ToolFacts, ToolSpec,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Names of the files of cases, in the order of the table.
pub const CASE_KINDS: [&str; 6] = ["named", "unnamed", "none", "follow-ups", "second-steps", "answers"];

/// Names of the files of cases about servers that are in none of the others.
pub const NEW_SERVER_KINDS: [&str; 2] = ["plain", "unseen"];

/// One question.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// `named-1`, from its file and its place there.
    #[serde(skip)]
    pub id: String,
    /// The list of tools: a name in `lists.json`.
    pub list: String,
    /// What it is about, such as the kind of its arguments.
    pub about: String,
    /// What was said before.
    #[serde(default)]
    pub before: Vec<Before>,
    /// The person's words.
    pub say: String,
    /// The call that is right; without one words are.
    #[serde(default)]
    pub call: Option<Expected>,
    /// The call that was made, where an answer from its result is wanted, or the next call.
    #[serde(default)]
    pub ran: Option<Ran>,
    /// Words that the answer must hold: one of each group.
    #[serde(default)]
    pub told: Vec<Vec<String>>,
    /// Words that it must not hold.
    #[serde(default)]
    pub untold: Vec<String>,
}

/// The right call.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// Its tool, or several of which any is right.
    pub name: Names,
    /// What its arguments have to be; see [`crate::score`].
    pub arguments: BTreeMap<String, Value>,
}

/// One name, or several.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Names {
    /// Only this tool is right.
    One(String),
    /// Any of these is.
    Several(Vec<String>),
}

/// A call that was made, with its result.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ran {
    name: String,
    arguments: Value,
    result: String,
    #[serde(default)]
    error: bool,
}

/// An earlier turn.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Before {
    /// The person's words.
    User { user: String },
    /// A call and what came of it.
    Call { call: Made, result: String },
    /// The model's words.
    Assistant { assistant: String },
}

/// A call.
#[derive(Debug, Clone, Deserialize)]
pub struct Made {
    name: String,
    arguments: Value,
}

/// The lists of tools by name.
pub struct Lists {
    servers: BTreeMap<String, Vec<ToolSpec>>,
    lists: BTreeMap<String, Vec<String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Tool {
    name: String,
    description: String,
    input_schema: Value,
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{} cannot be understood", path.display()))
}

/// The folder of the cases.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("eval")
}

/// Reads the cases of one kind.
pub fn of_kind(kind: &str) -> Result<Vec<Case>> {
    let mut cases: Vec<Case> = read(&folder().join("cases").join(format!("{kind}.json")))?;
    for (index, case) in cases.iter_mut().enumerate() {
        case.id = format!("{kind}-{}", index + 1);
    }
    Ok(cases)
}

impl Lists {
    /// Reads the recorded tools of all servers.
    pub fn read() -> Result<Self> {
        let mut servers = BTreeMap::new();
        for entry in std::fs::read_dir(folder().join("tools"))? {
            let path = entry?.path();
            let tools: Vec<Tool> = read(&path)?;
            let spec = |Tool { name, description, input_schema }| ToolSpec { name, description, input_schema };
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            servers.insert(name, tools.into_iter().map(spec).collect());
        }
        Ok(Self { servers, lists: read(&folder().join("lists.json"))? })
    }

    /// The tools of a list: whole servers, and single tools as `server/tool`.
    pub fn tools(&self, name: &str) -> Result<Vec<ToolSpec>> {
        let parts = self.lists.get(name).with_context(|| format!("there is no list {name}"))?;
        let mut tools = Vec::new();
        for part in parts {
            let (server, tool) = part.split_once('/').map_or((part.as_str(), None), |(s, t)| (s, Some(t)));
            let all = self.servers.get(server).with_context(|| format!("there is no server {server}"))?;
            tools.extend(all.iter().filter(|spec| tool.is_none_or(|tool| spec.name == tool)).cloned());
        }
        Ok(tools)
    }
}

impl Case {
    /// The request that the product would make of it.
    pub fn request(&self, tools: Vec<ToolSpec>) -> Request {
        let mut messages = Vec::new();
        let mut calls = 0;
        for before in &self.before {
            match before {
                Before::User { user } => messages.push(ModelMessage::user(user.clone())),
                Before::Assistant { assistant } => messages.push(ModelMessage::assistant(assistant, Vec::new())),
                Before::Call { call, result } => {
                    calls += 1;
                    messages.extend(ran(calls, &call.name, &call.arguments, result, false));
                }
            }
        }
        messages.push(ModelMessage::user(self.say.clone()));
        if let Some(Ran { name, arguments, result, error }) = &self.ran {
            messages.extend(ran(calls + 1, name, arguments, result, *error));
        }
        // Where no words are looked for, the first ones show that it speaks.
        let most = if self.told.is_empty() && self.untold.is_empty() { 16 } else { 120 };
        let of = |tool: &ToolSpec| ToolFacts { name: tool.name.clone(), description: tool.description.clone() };
        let tool_facts: Vec<ToolFacts> = tools.iter().map(of).collect();
        let server = ServerFacts { name: self.list.clone(), tool_count: tools.len(), tools: tool_facts };
        let facts = Some(ChatFacts { date: "Friday, 27 November 2026".to_owned(), servers: vec![server] });
        // The same words every time.
        let parameters = Parameters { temperature: Some(0.0), ..Parameters::default() };
        let system = SYSTEM_PROMPT.to_owned();
        Request { system, messages, tools, max_tokens: Some(most), parameters, facts, ..Request::default() }
    }
}

fn ran(number: usize, name: &str, arguments: &Value, result: &str, is_error: bool) -> [ModelMessage; 2] {
    let id = format!("call_{number}");
    let call = ModelCall { id: id.clone(), name: name.to_owned(), arguments: arguments.to_string() };
    let result = ModelMessage::ToolResult {
        call_id: id,
        name: name.to_owned(),
        text: result.to_owned(),
        is_error,
        files: Vec::new(),
    };
    [ModelMessage::assistant("", vec![call]), result]
}
