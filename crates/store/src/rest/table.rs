//! The three tables of the data API and their columns. No other name can become part of a statement.

use super::fault::Fault;

/// A table of the data API, with its [`Column`]s.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Table {
    /// Connections to MCP servers.
    McpServers,
    /// Chats.
    Sessions,
    /// Messages of chats.
    Messages,
}

/// The type of a [`Column`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `uuid`.
    Uuid,
    /// `text`.
    Text,
    /// `timestamp with time zone`; stored as microseconds since 1970.
    Time,
    /// `json`, always a list; stored as text.
    JsonList,
    /// A secret that is encrypted before it is stored and never returned: an object of strings, or the query of a URL.
    Sealed,
}

impl Kind {
    /// Returns PostgreSQL's name of the type.
    pub fn sql_name(self) -> &'static str {
        match self {
            Self::Uuid => "uuid",
            Self::Text => "text",
            Self::Time => "timestamp with time zone",
            Self::JsonList | Self::Sealed => "json",
        }
    }
}

/// The value of a [`Column`] that an insert does not mention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Default {
    /// NULL; rejected if the column is not nullable.
    Null,
    /// A new id.
    FreshId,
    /// The caller's id.
    Caller,
    /// The current time.
    Now,
    /// This text.
    Text(&'static str),
}

/// A column of a [`Table`].
#[derive(Debug, PartialEq, Eq)]
pub struct Column {
    /// Name, the same in the API and in the database.
    pub name: &'static str,
    /// Type.
    pub kind: Kind,
    /// Value if an insert does not mention the column.
    pub default: Default,
    /// Whether it may be null.
    pub nullable: bool,
    /// Whether clients may write it.
    pub writable: bool,
}

impl Column {
    /// Returns whether clients may read the column. To them, other columns do not exist.
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

/// Defines a column that only the server writes, because it reads the values back and relies on their format.
const fn of_the_engine(name: &'static str, kind: Kind) -> Column {
    Column { name, kind, default: Default::Null, nullable: true, writable: false }
}

/// The encrypted query of a connection's `url`. It is not part of the table's columns: it is only written together with
/// `url`, and no request can name it.
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
    /// All tables.
    pub const ALL: [Self; 3] = [Self::McpServers, Self::Sessions, Self::Messages];

    /// Returns the name, the same in the API and in the database.
    pub fn name(self) -> &'static str {
        match self {
            Self::McpServers => "mcp_servers",
            Self::Sessions => "ai_chat_sessions",
            Self::Messages => "ai_chat_messages",
        }
    }

    /// Returns the table with this name.
    ///
    /// # Errors
    ///
    /// A [`Fault`] with code `PGRST205` if there is none.
    pub fn named(name: &str) -> Result<Self, Fault> {
        Self::ALL.into_iter().find(|table| table.name() == name).ok_or_else(|| {
            Fault::new("PGRST205", format!("Could not find the table 'public.{name}' in the schema cache"))
        })
    }

    /// Returns the columns, in the order of the table.
    pub fn columns(self) -> &'static [Column] {
        match self {
            Self::McpServers => MCP_SERVERS,
            Self::Sessions => SESSIONS,
            Self::Messages => MESSAGES,
        }
    }

    /// Returns the SQL condition for a row of the caller, whose id is `$1` of every statement.
    pub(crate) fn owned(self) -> &'static str {
        match self {
            Self::McpServers => "mcp_servers.user_id = $1",
            Self::Sessions => "ai_chat_sessions.user_id = $1",
            Self::Messages => {
                // Messages of inactive branches are not part of the API.
                "ai_chat_messages.aside_at IS NULL AND EXISTS (SELECT 1 FROM ai_chat_sessions AS own
                 WHERE own.id = ai_chat_messages.session_id AND own.user_id = $1)"
            }
        }
    }

    /// Returns the unique keys of the table. An upsert may name one of them.
    pub(crate) fn unique_keys(self) -> &'static [&'static [&'static str]] {
        match self {
            Self::McpServers => &[&["id"], &["user_id", "name"]],
            Self::Sessions | Self::Messages => &[&["id"]],
        }
    }

    /// Returns the column `id`.
    pub(crate) fn id(self) -> &'static Column {
        &self.columns()[0]
    }

    /// Returns a column that a select list, a filter or an order names.
    pub(crate) fn readable(self, name: &str) -> Result<&'static Column, Fault> {
        self.columns()
            .iter()
            .find(|column| column.name == name && column.readable())
            .ok_or_else(|| Fault::no_such_column(self, name))
    }

    /// Returns a column that a request body names.
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
