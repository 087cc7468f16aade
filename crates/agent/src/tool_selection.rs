//! Selection of the tools of a turn among those of the user's own connections.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use connections::{BoundTool, ConnectionService, OpenedConnection, UnusableConnection};
use domain::model::{ChatFacts, ServerFacts, ToolFacts, ToolSpec, date_in_words};
use domain::text::{cut_to, show_invisible};
use domain::tool::ToolDefinition;
use domain::{ServerId, Timestamp, UserId};
use futures_util::future::join_all;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use storage::servers::Server;

use crate::tool_search::{DETAILS_TOOL, SEARCH_TOOL};

/// Maximum length of a tool's name in a model's request, in characters: the narrowest rule among the providers.
const MAX_MODEL_NAME_CHARS: usize = 64;
/// Maximum number of tools of one turn. A turn of a user with more gets the first ones.
const MAX_TOOLS: usize = 20_000;
/// Maximum number of tools of a connection in the facts about a chat; an answer lists no more.
const MAX_SERVER_FACTS: usize = 60;
/// Maximum length of a description in the facts about a chat, in bytes.
const MAX_FACT_BYTES: usize = 200;

/// Entry of the `tools` list of a request. Other fields are ignored: the definition of a tool comes from its server.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequestedTool {
    /// Name of the tool.
    pub name: String,
    /// Name of its connection; may be omitted if only one connection has such a tool.
    #[serde(default)]
    pub server_name: Option<String>,
}

/// Reason for which a selection cannot be resolved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectionError {
    /// No connection has that name, or none has such a tool.
    #[error("there is no tool called {0} among your connections")]
    Unknown(String),
    /// Several connections have such a tool.
    #[error("several of your connections have a tool called {0}; name the connection too")]
    Ambiguous(String),
}

/// Selected tools, grouped by the user's connections.
#[derive(Debug, Clone, Default)]
pub struct ToolSelection {
    by_server: Vec<(Server, Vec<String>)>,
    /// Number of tools beyond [`MAX_TOOLS`].
    omitted: usize,
}

impl ToolSelection {
    /// Resolves requested tools to connections. `known_tools` returns the names of a connection's known tools.
    ///
    /// # Errors
    ///
    /// See [`SelectionError`].
    pub fn resolve(
        wanted: &[RequestedTool],
        servers: &[Server],
        known_tools: impl Fn(&Server) -> Vec<String>,
    ) -> Result<Self, SelectionError> {
        let (wanted, rest) = wanted.split_at(wanted.len().min(MAX_TOOLS));
        // Collected once, not for each requested tool: a user can have thousands.
        let known: HashMap<ServerId, HashSet<String>> =
            servers.iter().map(|server| (server.id, known_tools(server).into_iter().collect())).collect();
        let mut chosen: BTreeMap<usize, Vec<String>> = BTreeMap::new();
        let mut selected = HashSet::new();
        for RequestedTool { name, server_name } in wanted {
            let is_requested = |server: &Server| match server_name.as_deref().filter(|name| !name.is_empty()) {
                Some(requested) => server.name == requested,
                None => known[&server.id].contains(name),
            };
            let mut matching = servers.iter().enumerate().filter(|(_, server)| is_requested(server));
            let Some((index, _)) = matching.next() else { return Err(SelectionError::Unknown(name.clone())) };
            if matching.next().is_some() {
                return Err(SelectionError::Ambiguous(name.clone()));
            }
            if selected.insert((index, name)) {
                chosen.entry(index).or_default().push(name.clone());
            }
        }
        let by_server = chosen.into_iter().map(|(index, names)| (servers[index].clone(), names)).collect();
        Ok(Self { by_server, omitted: rest.len() })
    }

    /// Returns the selection as it is stored with a turn.
    pub fn to_json(&self) -> Value {
        let each = |(server, names): &(Server, Vec<String>)| {
            let entry = |name: &String| json!({ "name": name, "serverName": server.name, "serverId": server.id });
            names.iter().map(entry).collect::<Vec<_>>()
        };
        self.by_server.iter().flat_map(each).collect()
    }

    /// Restores a stored selection. Connections that no longer exist are omitted; renamed ones are found by their id.
    pub fn restore(stored: &Value, servers: &[Server]) -> Self {
        let text = |entry: &Value, field: &str| entry.get(field).and_then(Value::as_str).map(str::to_owned);
        let mut by_server: Vec<(Server, Vec<String>)> = Vec::new();
        for entry in stored.as_array().into_iter().flatten() {
            let id = text(entry, "serverId").and_then(|id| id.parse::<ServerId>().ok());
            let server_name = text(entry, "serverName");
            let is_meant = |server: &&Server| match id {
                Some(id) => server.id == id,
                None => Some(&server.name) == server_name.as_ref(),
            };
            let (Some(name), Some(server)) = (text(entry, "name"), servers.iter().find(is_meant)) else { continue };
            match by_server.iter_mut().find(|(known, _)| known.id == server.id) {
                Some((_, names)) => names.push(name),
                None => by_server.push((server.clone(), vec![name])),
            }
        }
        Self { by_server, omitted: 0 }
    }

    /// Returns the connections of the selected tools.
    pub fn servers(&self) -> Vec<Server> {
        self.by_server.iter().map(|(server, _)| server.clone()).collect()
    }
}

/// Tools of a turn, each with a name that is unique within the turn.
#[derive(Debug, Default)]
pub struct Toolset {
    tools: Vec<BoundTool>,
    /// Index of each tool in [`Self::tools`], by its name for the model.
    indices: HashMap<String, usize>,
    /// Notices for the user about unavailable servers and missing tools.
    pub notices: Vec<String>,
    /// Sentence about the last server that was unavailable.
    pub unavailable: Option<String>,
}

impl Toolset {
    /// Binds selected tools to what their servers offer now.
    pub fn bind(
        selection: &ToolSelection,
        opened: Vec<(Server, Result<OpenedConnection, UnusableConnection>)>,
    ) -> Self {
        let mut set = Self::default();
        if selection.omitted > 0 {
            set.notices.push(format!("A turn can use {MAX_TOOLS} tools; {} are left out.", selection.omitted));
        }
        // These names are reserved even if the search is not used, so that no tool's name depends on that.
        let mut taken: HashMap<String, usize> = [SEARCH_TOOL, DETAILS_TOOL].map(|name| (name.to_owned(), 1)).into();
        for ((server, opened), (_, names)) in opened.into_iter().zip(&selection.by_server) {
            match opened {
                Ok(opened) => set.bind_server(&server, &opened, names, &mut taken),
                Err(reason) => set.add_unavailable(&server, &reason.to_string()),
            }
        }
        set
    }

    /// Opens the connections of a selection and returns the tools that can be used now. The notices name the others.
    pub async fn open(connections: &ConnectionService, user: UserId, selection: &ToolSelection) -> Self {
        let opened = join_all(selection.servers().into_iter().map(|server| async move {
            let opened = connections.open_for_turn(user, &server).await;
            (server, opened)
        }));
        Self::bind(selection, opened.await)
    }

    /// Opens the connections of a manual tool call. A server that failed recently is tried at once, because the user may
    /// know that it is available again.
    pub async fn open_manually(connections: &ConnectionService, user: UserId, selection: &ToolSelection) -> Self {
        selection.servers().iter().for_each(|server| connections.clear_backoff(user, server));
        Self::open(connections, user, selection).await
    }

    /// Returns the known tools of all connections that are switched on, without connecting.
    pub fn of_known_tools(connections: &ConnectionService, servers: &[Server]) -> Self {
        let mut wanted = Vec::new();
        for server in servers {
            let named = |name| RequestedTool { name, server_name: Some(server.name.clone()) };
            wanted.extend(connections.enabled_tool_names(server).into_iter().map(named));
        }
        // Every entry names its connection, so no list of known tools is needed to resolve it.
        let Ok(selection) = ToolSelection::resolve(&wanted, servers, |_| Vec::new()) else { return Self::default() };
        let opened = selection.servers().into_iter().map(|server| {
            let known = OpenedConnection::of_known_tools(connections.known_tools(&server));
            (server, Ok(known))
        });
        Self::bind(&selection, opened.collect()).for_model()
    }

    fn bind_server(
        &mut self,
        server: &Server,
        opened: &OpenedConnection,
        names: &[String],
        taken: &mut HashMap<String, usize>,
    ) {
        let mut missing = Vec::new();
        let offered: HashMap<&str, &ToolDefinition> =
            opened.tools.iter().map(|tool| (tool.name.as_str(), tool)).collect();
        let instructions: Arc<str> = opened.instructions().into();
        let server = Arc::new(server.clone());
        for name in names {
            match offered.get(name.as_str()) {
                // Checked again at each call; here it spares the model a tool that it could not use.
                Some(_) if server.disabled_tools.contains(name) => {
                    self.notices.push(format!("{}: {name} is switched off.", server.name));
                }
                Some(&definition) => {
                    let model_name = model_name(&definition.name, &server.name, taken);
                    self.indices.insert(model_name.clone(), self.tools.len());
                    self.tools.push(BoundTool {
                        model_name,
                        definition: definition.clone(),
                        instructions: Arc::clone(&instructions),
                        server: Arc::clone(&server),
                        source: opened.source,
                    });
                }
                None => missing.push(name.as_str()),
            }
        }
        match &opened.reason {
            _ if missing.is_empty() => {}
            Some(reason) => self.add_unavailable(&server, reason),
            None => self.notices.push(format!("{} no longer offers {}.", server.name, missing.join(", "))),
        }
    }

    fn add_unavailable(&mut self, server: &Server, reason: &str) {
        self.unavailable = Some(format!("The server {} {reason}.", server.name));
        self.notices.push(unavailable_notice(server, reason));
    }

    /// Removes the tools that only apps may call.
    pub fn for_model(mut self) -> Self {
        self.tools.retain(|tool| tool.definition.meta.is_for_model());
        self.indices = self.tools.iter().enumerate().map(|(index, tool)| (tool.model_name.clone(), index)).collect();
        self
    }

    /// Returns the tool with a name that the model used.
    pub fn get(&self, model_name: &str) -> Option<&BoundTool> {
        self.index(model_name).map(|index| &self.tools[index])
    }

    /// Returns the index of the tool with a name that the model used.
    pub fn index(&self, model_name: &str) -> Option<usize> {
        self.indices.get(model_name).copied()
    }

    /// Returns all tools; those of a connection follow each other.
    pub fn tools(&self) -> &[BoundTool] {
        &self.tools
    }

    /// Returns a tool of a connection.
    pub fn find(&self, server_name: &str, name: &str) -> Option<&BoundTool> {
        self.tools.iter().find(|tool| tool.server.name == server_name && tool.definition.name == name)
    }

    /// Returns a tool of a connection, by the connection's id.
    pub fn find_by_id(&self, server: ServerId, name: &str) -> Option<&BoundTool> {
        self.tools.iter().find(|tool| tool.server.id == server && tool.definition.name == name)
    }

    /// Returns the facts about these tools and the day for the built-in model.
    pub fn facts(&self, now: Timestamp) -> ChatFacts {
        let mut servers: Vec<ServerFacts> = Vec::new();
        let mut last = None;
        for tool in &self.tools {
            if last != Some(tool.server.id) {
                last = Some(tool.server.id);
                servers.push(ServerFacts { name: tool.server.name.clone(), tool_count: 0, tools: Vec::new() });
            }
            let Some(server) = servers.last_mut() else { continue };
            server.tool_count += 1;
            if server.tools.len() == MAX_SERVER_FACTS {
                continue;
            }
            let description = show_invisible(cut_to(&tool.definition.description, MAX_FACT_BYTES)).into_owned();
            server.tools.push(ToolFacts { name: tool.definition.name.clone(), description });
        }
        ChatFacts { date: date_in_words(now), servers }
    }

    /// Returns the own name of a tool and that of its connection, by the name that the model used. An unknown name is
    /// returned unchanged, without a connection.
    pub fn names(&self, model_name: &str) -> (String, String) {
        match self.get(model_name) {
            Some(tool) => (tool.definition.name.clone(), tool.server.name.clone()),
            None => (model_name.to_owned(), String::new()),
        }
    }

    /// Returns the name for the model of a tool of an earlier turn.
    pub fn model_name(&self, server_name: &str, name: &str) -> String {
        match self.find(server_name, name) {
            Some(tool) => tool.model_name.clone(),
            None => clean(name),
        }
    }
}

fn unavailable_notice(server: &Server, reason: &str) -> String {
    format!("{}: the server {reason}. Its tools are left out.", server.name)
}

/// Returns the specification of a tool for the model.
pub fn spec(tool: &BoundTool) -> ToolSpec {
    let ToolDefinition { description, input_schema, .. } = &tool.definition;
    let mut input_schema = input_schema.clone();
    show_texts(&mut input_schema);
    let description = show_invisible(description).into_owned();
    ToolSpec { name: tool.model_name.clone(), description, input_schema }
}

/// Makes invisible characters in the texts of a schema visible, so that the model reads nothing that users do not see. Names,
/// choices and default values are unchanged, because arguments consist of them.
fn show_texts(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(text) if matches!(name.as_str(), "title" | "description" | "$comment") => {
                        *text = show_invisible(text).into_owned();
                    }
                    value => show_texts(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(show_texts),
        _ => {}
    }
}

/// Returns a name that every provider accepts and no other tool of the turn has: the tool's own name; if that is taken, with
/// the connection's name in front; if that is taken as well, with a number at the end.
fn model_name(name: &str, server_name: &str, taken: &mut HashMap<String, usize>) -> String {
    let plain = clean(name);
    let candidates = [plain.clone(), clean(&format!("{server_name}__{name}"))];
    let free = candidates.into_iter().find(|candidate| !taken.contains_key(candidate));
    // Both names are taken, for example because cleaning made two of one connection equal.
    let unique = free.unwrap_or_else(|| {
        let count = taken.entry(plain.clone()).or_insert(1);
        *count += 1;
        let suffix = format!("_{count}");
        format!("{}{suffix}", &plain[..plain.len().min(MAX_MODEL_NAME_CHARS - suffix.len())])
    });
    taken.entry(unique.clone()).or_insert(1);
    unique
}

/// Replaces the characters that some provider rejects in names.
fn clean(name: &str) -> String {
    let allowed = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
    name.chars().map(|character| if allowed(character) { character } else { '_' }).take(MAX_MODEL_NAME_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn restores_the_tools_of_a_renamed_connection() {
        let (kept, gone) = (server("kept"), server("gone"));
        let offers = |_: &Server| Vec::new();
        let wanted = |name: &str, server: &str| RequestedTool { name: name.into(), server_name: Some(server.into()) };
        let wishes = [wanted("a", "kept"), wanted("b", "kept"), wanted("c", "gone")];
        let stored = ToolSelection::resolve(&wishes, &[kept.clone(), gone], offers).unwrap().to_json();
        let renamed = Server { name: "other".into(), ..kept.clone() };
        let restored = ToolSelection::restore(&stored, &[renamed]);
        let names = |(server, names): &(Server, Vec<String>)| (server.name.clone(), names.join(" "));
        assert_eq!(restored.by_server.iter().map(names).collect::<Vec<_>>(), [("other".to_owned(), "a b".to_owned())]);
        let older = json!([{ "name": "a", "serverName": "kept" }]);
        assert_eq!(ToolSelection::restore(&older, &[kept]).servers().len(), 1);
    }

    fn server(name: &str) -> Server {
        Server {
            id: ServerId::fresh(),
            name: name.into(),
            url: String::new(),
            url_query: None,
            headers: None,
            disabled_tools: vec![],
            created_at: domain::Timestamp(0),
            shared: None,
        }
    }

    fn wanted(name: &str, server: Option<&str>) -> RequestedTool {
        RequestedTool { name: name.into(), server_name: server.map(str::to_owned) }
    }

    #[test]
    fn a_name_alone_is_enough_where_it_is_unambiguous() {
        let servers = [server("a"), server("b")];
        let offers = |server: &Server| match server.name.as_str() {
            "a" => vec!["read".to_owned(), "both".to_owned()],
            _ => vec!["both".to_owned()],
        };
        let resolve = |wanted: RequestedTool| {
            ToolSelection::resolve(&[wanted], &servers, offers).map(|chosen| chosen.servers()[0].name.clone())
        };
        assert_eq!(resolve(wanted("read", None)), Ok("a".into()));
        assert_eq!(resolve(wanted("both", Some("b"))), Ok("b".into()));
        assert_eq!(resolve(wanted("both", None)), Err(SelectionError::Ambiguous("both".into())));
        assert_eq!(resolve(wanted("read", Some("c"))), Err(SelectionError::Unknown("read".into())));
        assert_eq!(resolve(wanted("write", None)), Err(SelectionError::Unknown("write".into())));
    }

    #[test]
    fn more_tools_than_a_turn_can_carry_are_omitted_and_counted() {
        let wanted: Vec<RequestedTool> =
            (0..MAX_TOOLS + 3).map(|number| wanted(&format!("t{number}"), Some("a"))).collect();
        let selection = ToolSelection::resolve(&wanted, &[server("a")], |_| Vec::new()).unwrap();
        assert_eq!(selection.by_server[0].1.len(), MAX_TOOLS);
        let set = Toolset::bind(&selection, Vec::new());
        assert_eq!(set.notices, ["A turn can use 20000 tools; 3 are left out."]);
    }

    #[test]
    fn a_model_reads_no_text_of_a_definition_that_a_person_does_not_see() {
        let hidden = "Adds.\u{e0048}\u{202e}";
        let definition = json!({
            "name": "add", "description": hidden,
            "inputSchema": { "properties": { "n\u{200b}": { "title": hidden, "enum": [hidden], "anyOf": [{ "description": hidden }] } } },
        });
        let tool = BoundTool {
            model_name: "add".into(),
            definition: serde_json::from_value(definition).unwrap(),
            instructions: "".into(),
            server: Arc::new(server("a")),
            source: connections::ToolSource::Server,
        };
        let (spec, shown) = (spec(&tool), "Adds.⟨U+E0048⟩⟨U+202E⟩");
        let argument = &spec.input_schema["properties"]["n\u{200b}"];
        assert_eq!(spec.description, shown);
        assert_eq!((&argument["title"], &argument["anyOf"][0]["description"]), (&json!(shown), &json!(shown)));
        assert_eq!(argument["enum"], json!([hidden]), "values are sent as they are");
    }

    proptest! {
        #[test]
        fn names_are_legal_and_unique(names in prop::collection::vec("\\PC{1,80}", 1..20)) {
            let mut taken = HashMap::new();
            let made: Vec<String> = names.iter().map(|name| model_name(name, "my server", &mut taken)).collect();
            for (index, name) in made.iter().enumerate() {
                prop_assert!((1..=MAX_MODEL_NAME_CHARS).contains(&name.len()) && clean(name) == *name);
                prop_assert!(!made[..index].contains(name), "{name} twice");
            }
        }
    }
}
