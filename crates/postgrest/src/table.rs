//! The three tables of the data API and their columns. No other name can become part of a statement.

use storage::raw::SqlType;

use crate::pg_error::PgError;

/// A table of the data API, with its [`TableColumn`]s.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RestTable {
    /// Connections to MCP servers.
    McpServers,
    /// Chats.
    Sessions,
    /// Messages of chats.
    Messages,
}

/// The type of a [`TableColumn`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnType {
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

impl ColumnType {
    /// Returns the type under which values are stored.
    pub(crate) fn sql_type(self) -> SqlType {
        match self {
            Self::Uuid => SqlType::Uuid,
            Self::Text => SqlType::Text,
            Self::Time => SqlType::Time,
            Self::JsonList => SqlType::Json,
            Self::Sealed => SqlType::Bytes,
        }
    }

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

/// The value of a [`TableColumn`] that an insert does not mention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnDefault {
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

/// A column of a [`RestTable`].
#[derive(Debug, PartialEq, Eq)]
pub struct TableColumn {
    /// Name, the same in the API and in the database.
    pub name: &'static str,
    /// Type.
    pub column_type: ColumnType,
    /// Value if an insert does not mention the column.
    pub default: ColumnDefault,
    /// Whether it may be null.
    pub nullable: bool,
    /// Whether clients may write it.
    pub writable: bool,
}

impl TableColumn {
    /// Returns whether clients may read the column. To them, other columns do not exist.
    pub fn readable(&self) -> bool {
        self.column_type != ColumnType::Sealed
    }
}

const fn column(name: &'static str, column_type: ColumnType, default: ColumnDefault) -> TableColumn {
    TableColumn { name, column_type, default, nullable: false, writable: true }
}

const fn nullable(column: TableColumn) -> TableColumn {
    TableColumn { nullable: true, ..column }
}

/// Defines a column that only the server writes, because it reads the values back and relies on their format.
const fn read_only(name: &'static str, column_type: ColumnType) -> TableColumn {
    TableColumn { name, column_type, default: ColumnDefault::Null, nullable: true, writable: false }
}

/// The encrypted query of a connection's `url`. It is not part of the table's columns: it is only written together with
/// `url`, and no request can name it.
pub(crate) static URL_QUERY: TableColumn = nullable(column("url_query", ColumnType::Sealed, ColumnDefault::Null));

const MCP_SERVERS: &[TableColumn] = &[
    column("id", ColumnType::Uuid, ColumnDefault::FreshId),
    column("user_id", ColumnType::Uuid, ColumnDefault::Caller),
    column("name", ColumnType::Text, ColumnDefault::Null),
    column("url", ColumnType::Text, ColumnDefault::Null),
    column("tools", ColumnType::JsonList, ColumnDefault::Text("[]")),
    column("status", ColumnType::Text, ColumnDefault::Text("connected")),
    nullable(column("headers", ColumnType::Sealed, ColumnDefault::Null)),
    column("created_at", ColumnType::Time, ColumnDefault::Now),
    column("updated_at", ColumnType::Time, ColumnDefault::Now),
];

const SESSIONS: &[TableColumn] = &[
    column("id", ColumnType::Uuid, ColumnDefault::FreshId),
    column("user_id", ColumnType::Uuid, ColumnDefault::Caller),
    column("title", ColumnType::Text, ColumnDefault::Text(storage::chats::UNTITLED)),
    column("created_at", ColumnType::Time, ColumnDefault::Now),
    column("updated_at", ColumnType::Time, ColumnDefault::Now),
];

const MESSAGES: &[TableColumn] = &[
    column("id", ColumnType::Uuid, ColumnDefault::FreshId),
    column("session_id", ColumnType::Uuid, ColumnDefault::Null),
    column("role", ColumnType::Text, ColumnDefault::Null),
    column("content", ColumnType::Text, ColumnDefault::Null),
    column("tool_calls", ColumnType::JsonList, ColumnDefault::Text("[]")),
    read_only("parts", ColumnType::JsonList),
    read_only("status", ColumnType::Text),
    read_only("error", ColumnType::Text),
    read_only("model", ColumnType::Text),
    column("created_at", ColumnType::Time, ColumnDefault::Now),
];

impl RestTable {
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
    /// A [`PgError`] with code `PGRST205` if there is none.
    pub fn named(name: &str) -> Result<Self, PgError> {
        Self::ALL.into_iter().find(|table| table.name() == name).ok_or_else(|| {
            PgError::new("PGRST205", format!("Could not find the table 'public.{name}' in the schema cache"))
        })
    }

    /// Returns the columns, in the order of the table.
    pub fn columns(self) -> &'static [TableColumn] {
        match self {
            Self::McpServers => MCP_SERVERS,
            Self::Sessions => SESSIONS,
            Self::Messages => MESSAGES,
        }
    }

    /// Returns the SQL condition for a row of the caller, whose id is `$1` of every statement. Deleted chats and their
    /// messages do not meet it.
    pub(crate) fn ownership_condition(self) -> &'static str {
        match self {
            Self::McpServers => "mcp_servers.user_id = $1",
            Self::Sessions => "ai_chat_sessions.user_id = $1 AND ai_chat_sessions.deleted_at IS NULL",
            Self::Messages => {
                // Messages of inactive branches are not part of the API.
                "ai_chat_messages.inactive_since IS NULL AND EXISTS (SELECT 1 FROM existing_chats AS own
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
    pub(crate) fn id(self) -> &'static TableColumn {
        &self.columns()[0]
    }

    /// Returns a column that a select list, a filter or an order names.
    pub(crate) fn readable(self, name: &str) -> Result<&'static TableColumn, PgError> {
        self.columns()
            .iter()
            .find(|column| column.name == name && column.readable())
            .ok_or_else(|| PgError::unknown_column(self, name))
    }

    /// Returns a column that a request body names.
    pub(crate) fn writable(self, name: &str) -> Result<&'static TableColumn, PgError> {
        let column = self
            .columns()
            .iter()
            .find(|column| column.name == name)
            .ok_or_else(|| PgError::unknown_field(self, name))?;
        if column.writable {
            Ok(column)
        } else {
            Err(PgError::new("42501", format!("permission denied for column \"{name}\" of table {}", self.name())))
        }
    }
}
