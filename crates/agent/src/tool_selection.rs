//! Which tools a turn may use: a choice among the tools of the person's own connections, and nothing else.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use connections::{BoundTool, ConnectionService, OpenedConnection};
use domain::model::ToolSpec;
use domain::text::show_invisible;
use domain::tool::ToolDefinition;
use domain::{ServerId, UserId};
use futures_util::future::join_all;
use serde::Deserialize;
use serde_json::{Value, json};
use storage::servers::Server;

use crate::tool_search::{DETAILS_TOOL, SEARCH_TOOL};

/// Maximum length of a tool's name in a model's request, in characters: the narrowest rule among the providers.
const MAX_MODEL_NAME_CHARS: usize = 64;
/// Maximum number of tools of one turn. A turn of a user with more gets the first ones.
const MAX_TOOLS: usize = 20_000;

/// One entry of the `tools` list of a request. Its other fields are ignored: the definition of a tool comes from its
/// server.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Wanted {
    /// The tool.
    pub name: String,
    /// The connection it belongs to; may be left out where only one has such a tool.
    #[serde(default)]
    pub server_name: Option<String>,
}

/// Why a choice cannot be followed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectionError {
    /// No connection of that name, or none with such a tool.
    #[error("there is no tool called {0} among your connections")]
    Unknown(String),
    /// Several connections have such a tool.
    #[error("several of your connections have a tool called {0}; name the connection too")]
    Ambiguous(String),
}

/// A choice, resolved to the person's connections.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    by_server: Vec<(Server, Vec<String>)>,
    left_out: usize,
}

impl Selection {
    /// Resolves a choice. `offers` tells which tools a connection is known to offer.
    pub fn resolve(
        wanted: &[Wanted],
        servers: &[Server],
        offers: impl Fn(&Server) -> Vec<String>,
    ) -> Result<Self, SelectionError> {
        let (wanted, rest) = wanted.split_at(wanted.len().min(MAX_TOOLS));
        let offered: HashMap<ServerId, HashSet<String>> =
            servers.iter().map(|server| (server.id, offers(server).into_iter().collect())).collect();
        let mut chosen: BTreeMap<usize, Vec<String>> = BTreeMap::new();
        let mut known = HashSet::new();
        for Wanted { name, server_name } in wanted {
            let named = |server: &Server| match server_name.as_deref().filter(|name| !name.is_empty()) {
                Some(wanted) => server.name == wanted,
                None => offered[&server.id].contains(name),
            };
            let mut matching = servers.iter().enumerate().filter(|(_, server)| named(server));
            let Some((index, _)) = matching.next() else { return Err(SelectionError::Unknown(name.clone())) };
            if matching.next().is_some() {
                return Err(SelectionError::Ambiguous(name.clone()));
            }
            if known.insert((index, name)) {
                chosen.entry(index).or_default().push(name.clone());
            }
        }
        let by_server = chosen.into_iter().map(|(index, names)| (servers[index].clone(), names)).collect();
        Ok(Self { by_server, left_out: rest.len() })
    }

    /// The choice as it is stored with a run.
    pub fn stored(&self) -> Value {
        let each = |(server, names): &(Server, Vec<String>)| {
            let entry = |name: &String| json!({ "name": name, "serverName": server.name, "serverId": server.id });
            names.iter().map(entry).collect::<Vec<_>>()
        };
        self.by_server.iter().flat_map(each).collect()
    }

    /// A choice that was stored, without the connections that are gone. One may have another name by now.
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
        Self { by_server, left_out: 0 }
    }

    /// The connections that are needed.
    pub fn servers(&self) -> Vec<Server> {
        self.by_server.iter().map(|(server, _)| server.clone()).collect()
    }
}

/// The tools of a turn, each under a name that is unique in it.
#[derive(Debug, Default)]
pub struct Toolset {
    tools: Vec<BoundTool>,
    /// The places of the tools by the names that the model uses.
    places: HashMap<String, usize>,
    /// What the person should know: servers that could not be used, tools that are gone.
    pub notices: Vec<String>,
    /// Why a server could not be asked, as a sentence.
    pub away: Option<String>,
}

impl Toolset {
    /// Binds a choice to what the servers offer now.
    pub fn bind(selection: &Selection, opened: Vec<(Server, Result<OpenedConnection, String>)>) -> Self {
        let mut set = Self::default();
        if selection.left_out > 0 {
            set.notices.push(format!("A turn can use {MAX_TOOLS} tools; {} are left out.", selection.left_out));
        }
        // Ours have their names whether they are used or not, so that no other tool's name depends on it.
        let mut taken: HashMap<String, usize> = [SEARCH_TOOL, DETAILS_TOOL].map(|name| (name.to_owned(), 1)).into();
        for ((server, opened), (_, names)) in opened.into_iter().zip(&selection.by_server) {
            match opened {
                Ok(opened) => set.bind_server(&server, &opened, names, &mut taken),
                Err(reason) => set.miss(&server, &reason),
            }
        }
        set
    }

    /// Opens the connections of a selection and returns the tools that can be used now. The notices name the others.
    pub async fn open(connections: &ConnectionService, user: UserId, selection: &Selection) -> Self {
        let opened = join_all(selection.servers().into_iter().map(|server| async move {
            let opened = connections.open_for_turn(user, &server).await;
            (server, opened)
        }));
        Self::bind(selection, opened.await)
    }

    /// Opens the connections of a manual tool call. A server that failed recently is tried at once, because the user may
    /// know that it is available again.
    pub async fn open_manually(connections: &ConnectionService, user: UserId, selection: &Selection) -> Self {
        selection.servers().iter().for_each(|server| connections.clear_backoff(user, server));
        Self::open(connections, user, selection).await
    }

    /// Returns the known tools of all connections that are switched on, without connecting.
    pub fn of_known_tools(connections: &ConnectionService, servers: &[Server]) -> Self {
        let mut wanted = Vec::new();
        for server in servers {
            let named = |name| Wanted { name, server_name: Some(server.name.clone()) };
            wanted.extend(connections.enabled_tool_names(server).into_iter().map(named));
        }
        let Ok(selection) = Selection::resolve(&wanted, servers, |_| Vec::new()) else { return Self::default() };
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
        let mut gone = Vec::new();
        let offered: HashMap<&str, &ToolDefinition> =
            opened.tools.iter().map(|tool| (tool.name.as_str(), tool)).collect();
        let instructions: Arc<str> = opened.instructions().into();
        let server = Arc::new(server.clone());
        for name in names {
            match offered.get(name.as_str()) {
                Some(_) if server.disabled_tools.contains(name) => {
                    self.notices.push(format!("{}: {name} is switched off.", server.name));
                }
                Some(&definition) => {
                    let model_name = model_name(&definition.name, &server.name, taken);
                    self.places.insert(model_name.clone(), self.tools.len());
                    self.tools.push(BoundTool {
                        model_name,
                        definition: definition.clone(),
                        instructions: Arc::clone(&instructions),
                        server: Arc::clone(&server),
                        source: opened.source,
                    });
                }
                None => gone.push(name.as_str()),
            }
        }
        match &opened.reason {
            _ if gone.is_empty() => {}
            Some(reason) => self.miss(&server, reason),
            None => self.notices.push(format!("{} no longer offers {}.", server.name, gone.join(", "))),
        }
    }

    fn miss(&mut self, server: &Server, reason: &str) {
        self.away = Some(format!("The server {} {reason}.", server.name));
        self.notices.push(away(server, reason));
    }

    /// The same without the tools that only apps may call.
    pub fn for_model(mut self) -> Self {
        self.tools.retain(|tool| tool.definition.meta.is_for_model());
        self.places = self.tools.iter().enumerate().map(|(place, tool)| (tool.model_name.clone(), place)).collect();
        self
    }

    /// The tool behind a name that the model used.
    pub fn get(&self, model_name: &str) -> Option<&BoundTool> {
        self.index(model_name).map(|index| &self.tools[index])
    }

    /// The place of the tool behind a name that the model uses.
    pub fn index(&self, model_name: &str) -> Option<usize> {
        self.places.get(model_name).copied()
    }

    /// All of them, those of a connection together.
    pub fn tools(&self) -> &[BoundTool] {
        &self.tools
    }

    /// The tool of a connection.
    pub fn find(&self, server_name: &str, name: &str) -> Option<&BoundTool> {
        self.tools.iter().find(|tool| tool.server.name == server_name && tool.definition.name == name)
    }

    /// The tool of a connection, by the connection's id.
    pub fn find_by_id(&self, server: ServerId, name: &str) -> Option<&BoundTool> {
        self.tools.iter().find(|tool| tool.server.id == server && tool.definition.name == name)
    }

    /// A tool's own name and its connection's, by the name that the model used; what the model made up stays as it is.
    pub fn names(&self, model_name: &str) -> (String, String) {
        match self.get(model_name) {
            Some(tool) => (tool.definition.name.clone(), tool.server.name.clone()),
            None => (model_name.to_owned(), String::new()),
        }
    }

    /// The name under which the model knows a tool of an earlier turn.
    pub fn model_name(&self, server_name: &str, name: &str) -> String {
        match self.find(server_name, name) {
            Some(tool) => tool.model_name.clone(),
            None => clean(name),
        }
    }
}

fn away(server: &Server, reason: &str) -> String {
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

/// Shows a model what a person is shown: no text of a schema says something that is not seen. What arguments are made of
/// (names, choices, defaults) stays.
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

/// A name that every provider accepts and no other tool of the turn has: the tool's own; where that is taken, with the
/// connection's in front, and then with a number behind.
fn model_name(name: &str, server_name: &str, taken: &mut HashMap<String, usize>) -> String {
    let plain = clean(name);
    let candidates = [plain.clone(), clean(&format!("{server_name}__{name}"))];
    let free = candidates.into_iter().find(|candidate| !taken.contains_key(candidate));
    let unique = free.unwrap_or_else(|| {
        let count = taken.entry(plain.clone()).or_insert(1);
        *count += 1;
        let suffix = format!("_{count}");
        format!("{}{suffix}", &plain[..plain.len().min(MAX_MODEL_NAME_CHARS - suffix.len())])
    });
    taken.entry(unique.clone()).or_insert(1);
    unique
}

fn clean(name: &str) -> String {
    let allowed = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
    name.chars().map(|character| if allowed(character) { character } else { '_' }).take(MAX_MODEL_NAME_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_stored_choice_follows_a_connection_that_was_renamed() {
        let (kept, gone) = (server("kept"), server("gone"));
        let offers = |_: &Server| Vec::new();
        let wanted = |name: &str, server: &str| Wanted { name: name.into(), server_name: Some(server.into()) };
        let wishes = [wanted("a", "kept"), wanted("b", "kept"), wanted("c", "gone")];
        let stored = Selection::resolve(&wishes, &[kept.clone(), gone], offers).unwrap().stored();
        let renamed = Server { name: "other".into(), ..kept.clone() };
        let restored = Selection::restore(&stored, &[renamed]);
        let names = |(server, names): &(Server, Vec<String>)| (server.name.clone(), names.join(" "));
        assert_eq!(restored.by_server.iter().map(names).collect::<Vec<_>>(), [("other".to_owned(), "a b".to_owned())]);
        let older = json!([{ "name": "a", "serverName": "kept" }]);
        assert_eq!(Selection::restore(&older, &[kept]).servers().len(), 1);
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
        }
    }

    fn wanted(name: &str, server: Option<&str>) -> Wanted {
        Wanted { name: name.into(), server_name: server.map(str::to_owned) }
    }

    #[test]
    fn a_name_alone_is_enough_where_it_is_unambiguous() {
        let servers = [server("a"), server("b")];
        let offers = |server: &Server| match server.name.as_str() {
            "a" => vec!["read".to_owned(), "both".to_owned()],
            _ => vec!["both".to_owned()],
        };
        let resolve = |wanted: Wanted| {
            Selection::resolve(&[wanted], &servers, offers).map(|chosen| chosen.servers()[0].name.clone())
        };
        assert_eq!(resolve(wanted("read", None)), Ok("a".into()));
        assert_eq!(resolve(wanted("both", Some("b"))), Ok("b".into()));
        assert_eq!(resolve(wanted("both", None)), Err(SelectionError::Ambiguous("both".into())));
        assert_eq!(resolve(wanted("read", Some("c"))), Err(SelectionError::Unknown("read".into())));
        assert_eq!(resolve(wanted("write", None)), Err(SelectionError::Unknown("write".into())));
    }

    #[test]
    fn more_tools_than_a_turn_can_carry_are_left_out_and_counted() {
        let wanted: Vec<Wanted> = (0..MAX_TOOLS + 3).map(|number| wanted(&format!("t{number}"), Some("a"))).collect();
        let selection = Selection::resolve(&wanted, &[server("a")], |_| Vec::new()).unwrap();
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
