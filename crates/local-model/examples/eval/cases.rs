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
pub const NEW_SERVER_KINDS: [&str; 5] = ["plain", "unseen", "general", "talk", "more-steps"];

/// Names of the files of cases of the test set.
pub const TEST_KINDS: [&str; 5] = ["named", "unnamed", "none", "cannot", "talk"];

/// A set of cases with the servers that they are about. The two have no server in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Set {
    /// For work on the model's methods.
    Development,
    /// For the figures of a release. Nobody looks at its questions while working on the methods.
    Test,
}

impl Set {
    /// Returns the folder of its files.
    fn folder(self) -> PathBuf {
        let eval = Path::new(env!("CARGO_MANIFEST_DIR")).join("eval");
        if self == Self::Test { eval.join("test") } else { eval }
    }
}

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
    /// How it is worded: terse, chatty, typo, non-native or foreign.
    #[serde(default)]
    pub style: Option<String>,
    /// Tools that are so close that to ask which is meant is right, too.
    #[serde(default)]
    pub close: Vec<String>,
    /// Language that the answer has to have: `en`, `de`, `fr` or `es`.
    #[serde(default)]
    pub language: Option<String>,
}

/// `about` of a request that lacks a required argument, so that to ask for it is right.
pub const MISSING: &str = "missing";

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

impl Names {
    /// Returns whether a tool is right.
    pub fn contains(&self, name: &str) -> bool {
        match self {
            Self::One(one) => one == name,
            Self::Several(several) => several.iter().any(|one| one == name),
        }
    }
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
    servers: BTreeMap<String, Vec<Tool>>,
    lists: BTreeMap<String, Vec<String>>,
}

/// The tools of a server as it lists them.
#[derive(Debug, Clone)]
pub struct ListedServer {
    /// Its name.
    pub name: String,
    /// Its tools.
    pub tools: Vec<ToolSpec>,
    /// Names of those that change nothing, as the server says.
    pub read_only: Vec<String>,
}

#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Tool {
    name: String,
    #[serde(default)]
    description: String,
    input_schema: Value,
    #[serde(default)]
    annotations: Value,
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{} cannot be understood", path.display()))
}

/// Reads the cases of one kind.
pub fn of_kind(set: Set, kind: &str) -> Result<Vec<Case>> {
    let mut cases: Vec<Case> = read(&set.folder().join("cases").join(format!("{kind}.json")))?;
    for (index, case) in cases.iter_mut().enumerate() {
        case.id = format!("{kind}-{}", index + 1);
    }
    Ok(cases)
}

impl Lists {
    /// Reads the recorded tools of all servers of a set.
    pub fn read(set: Set) -> Result<Self> {
        let mut servers = BTreeMap::new();
        for entry in std::fs::read_dir(set.folder().join("tools"))? {
            let path = entry?.path();
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            servers.insert(name, read(&path)?);
        }
        Ok(Self { servers, lists: read(&set.folder().join("lists.json"))? })
    }

    /// Returns the names of all servers.
    #[cfg(test)]
    pub fn server_names(&self) -> impl Iterator<Item = &String> {
        self.servers.keys()
    }

    /// Returns the servers of a list: whole servers, and single tools as `server/tool`.
    pub fn servers(&self, name: &str) -> Result<Vec<ListedServer>> {
        let parts = self.lists.get(name).with_context(|| format!("there is no list {name}"))?;
        let mut servers: Vec<ListedServer> = Vec::new();
        for part in parts {
            let (server, wanted) = part.split_once('/').map_or((part.as_str(), None), |(s, t)| (s, Some(t)));
            let all = self.servers.get(server).with_context(|| format!("there is no server {server}"))?;
            let found: Vec<&Tool> = all.iter().filter(|tool| wanted.is_none_or(|name| tool.name == name)).collect();
            anyhow::ensure!(!found.is_empty(), "there is no tool {part}");
            if servers.last().is_none_or(|last| last.name != server) {
                servers.push(ListedServer { name: server.to_owned(), tools: Vec::new(), read_only: Vec::new() });
            }
            if let Some(last) = servers.last_mut() {
                let is_read_only = |tool: &&&Tool| tool.annotations["readOnlyHint"] == true;
                last.read_only.extend(found.iter().filter(is_read_only).map(|tool| tool.name.clone()));
                last.tools.extend(found.into_iter().map(|tool| ToolSpec {
                    name: tool.name.clone(),
                    description: tool.description.clone(),
                    input_schema: tool.input_schema.clone(),
                }));
            }
        }
        Ok(servers)
    }

    /// Returns the tools of a list.
    #[cfg(test)]
    pub fn tools(&self, name: &str) -> Result<Vec<ToolSpec>> {
        Ok(self.servers(name)?.into_iter().flat_map(|server| server.tools).collect())
    }
}

impl Case {
    /// The request that the product would make of it.
    pub fn request(&self, servers: &[ListedServer]) -> Request {
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
        let looks_for_words = !self.told.is_empty() || !self.untold.is_empty() || self.language.is_some();
        let most = if looks_for_words || self.about == MISSING { 120 } else { 16 };
        let of = |tool: &ToolSpec| ToolFacts { name: tool.name.clone(), description: tool.description.clone() };
        let facts_of = |server: &ListedServer| ServerFacts {
            name: server.name.clone(),
            tool_count: server.tools.len(),
            tools: server.tools.iter().map(of).collect(),
        };
        let tools: Vec<ToolSpec> = servers.iter().flat_map(|server| server.tools.clone()).collect();
        let servers = servers.iter().map(facts_of).collect();
        let facts = Some(ChatFacts { date: "Friday, 27 November 2026".to_owned(), servers });
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
