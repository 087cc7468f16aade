//! The three tables that the data API serves, and their columns. No other name ever reaches a statement.

use super::fault::Fault;

/// A table of the data API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Table {
    /// A person's connections.
    McpServers,
    /// A person's chats.
    Sessions,
    /// What was said in a person's chats.
    Messages,
}

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `uuid`.
    Uuid,
    /// `text`.
    Text,
    /// `timestamp with time zone`; microseconds since 1970 in the database.
    Time,
    /// `json`, always a list; text in the database.
    JsonList,
    /// A secret that is sealed before it is stored and never read back: an object of strings, or the query of a URL.
    Sealed,
}

impl Kind {
    /// PostgreSQL's name of the type.
    pub fn sql_name(self) -> &'static str {
        match self {
            Self::Uuid => "uuid",
            Self::Text => "text",
            Self::Time => "timestamp with time zone",
            Self::JsonList | Self::Sealed => "json",
        }
    }
}

/// What stands in a column when an insert does not mention it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Default {
    /// NULL; refused where the column may not be null.
    Null,
    /// A new id.
    FreshId,
    /// The caller.
    Caller,
    /// The present moment.
    Now,
    /// These characters.
    Text(&'static str),
}

/// A column.
#[derive(Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name, the same on the wire and in the database.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// What it holds when nobody says.
    pub default: Default,
    /// Whether it may be null.
    pub nullable: bool,
    /// Whether clients may write it.
    pub writable: bool,
}

impl Column {
    /// Whether clients may read it. What they may not read does not exist for them.
    pub fn readable(&self) -> bool {
        self.kind != Kind::Sealed
    }
}

const fn column(name: &'static str, kind: Kind, default: Default) -> Column {
    Column { name, kind, default, nullable: false, writable: true }
}

const fn nullable(column: Column) -> Column {
    Column { nullable: true, ..column }
}

/// Written by the engine alone: it reads them back and trusts their form.
const fn of_the_engine(name: &'static str, kind: Kind) -> Column {
    Column { name, kind, default: Default::Null, nullable: true, writable: false }
}

/// The sealed query of a connection's `url`. It is not among the columns of the table: it is written with `url` alone, and no
/// request can name it.
pub(crate) static URL_QUERY: Column = nullable(column("url_query", Kind::Sealed, Default::Null));

const MCP_SERVERS: &[Column] = &[
    column("id", Kind::Uuid, Default::FreshId),
    column("user_id", Kind::Uuid, Default::Caller),
    column("name", Kind::Text, Default::Null),
    column("url", Kind::Text, Default::Null),
    column("tools", Kind::JsonList, Default::Text("[]")),
    column("status", Kind::Text, Default::Text("connected")),
    nullable(column("headers", Kind::Sealed, Default::Null)),
    column("created_at", Kind::Time, Default::Now),
    column("updated_at", Kind::Time, Default::Now),
];

const SESSIONS: &[Column] = &[
    column("id", Kind::Uuid, Default::FreshId),
    column("user_id", Kind::Uuid, Default::Caller),
    column("title", Kind::Text, Default::Text(crate::chats::UNTITLED)),
    column("created_at", Kind::Time, Default::Now),
    column("updated_at", Kind::Time, Default::Now),
];

const MESSAGES: &[Column] = &[
    column("id", Kind::Uuid, Default::FreshId),
    column("session_id", Kind::Uuid, Default::Null),
    column("role", Kind::Text, Default::Null),
    column("content", Kind::Text, Default::Null),
    column("tool_calls", Kind::JsonList, Default::Text("[]")),
    of_the_engine("parts", Kind::JsonList),
    of_the_engine("status", Kind::Text),
    of_the_engine("error", Kind::Text),
    of_the_engine("model", Kind::Text),
    column("created_at", Kind::Time, Default::Now),
];

impl Table {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::McpServers, Self::Sessions, Self::Messages];

    /// Its name, the same on the wire and in the database.
    pub fn name(self) -> &'static str {
        match self {
            Self::McpServers => "mcp_servers",
            Self::Sessions => "ai_chat_sessions",
            Self::Messages => "ai_chat_messages",
        }
    }

    /// The table of that name.
    pub fn named(name: &str) -> Result<Self, Fault> {
        Self::ALL.into_iter().find(|table| table.name() == name).ok_or_else(|| {
            Fault::new("PGRST205", format!("Could not find the table 'public.{name}' in the schema cache"))
        })
    }

    /// Its columns, in the order of the table.
    pub fn columns(self) -> &'static [Column] {
        match self {
            Self::McpServers => MCP_SERVERS,
            Self::Sessions => SESSIONS,
            Self::Messages => MESSAGES,
        }
    }

    /// The condition under which a row is the caller's, who is parameter `$1` of every statement.
    pub(crate) fn owned(self) -> &'static str {
        match self {
            Self::McpServers => "mcp_servers.user_id = $1",
            Self::Sessions => "ai_chat_sessions.user_id = $1",
            Self::Messages => {
                // What stands on another branch of its chat is not in this list.
                "ai_chat_messages.aside_at IS NULL AND EXISTS (SELECT 1 FROM ai_chat_sessions AS own
                 WHERE own.id = ai_chat_messages.session_id AND own.user_id = $1)"
            }
        }
    }

    /// Sets of columns that no two rows share; an upsert may name one of them.
    pub(crate) fn unique_keys(self) -> &'static [&'static [&'static str]] {
        match self {
            Self::McpServers => &[&["id"], &["user_id", "name"]],
            Self::Sessions | Self::Messages => &[&["id"]],
        }
    }

    /// The column `id`.
    pub(crate) fn id(self) -> &'static Column {
        &self.columns()[0]
    }

    /// A column that a select list, a filter or an order names.
    pub(crate) fn readable(self, name: &str) -> Result<&'static Column, Fault> {
        self.columns()
            .iter()
            .find(|column| column.name == name && column.readable())
            .ok_or_else(|| Fault::no_such_column(self, name))
    }

    /// A column that a body names.
    pub(crate) fn writable(self, name: &str) -> Result<&'static Column, Fault> {
        let column =
            self.columns().iter().find(|column| column.name == name).ok_or_else(|| Fault::no_such_field(self, name))?;
        if column.writable {
            Ok(column)
        } else {
            Err(Fault::new("42501", format!("permission denied for column \"{name}\" of table {}", self.name())))
        }
    }
}
