//! Exports of all data of a user, or of one chat, as one JSON document that is generated while it is sent: a few rows
//! are in memory at a time, however large it is.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use agent::chats::file::{EXPORT_FORMAT, EXPORT_VERSION, FileOfFile};
use agent::chats::markdown;
use anyhow::Context;
use axum::body::Body;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use domain::file::FileRef;
use domain::model::ModelSettings;
use domain::{ChatId, Clock, MessageId, Timestamp, UserId};
use futures_util::stream::{self, StreamExt};
use http_server::error::ApiError;
use http_server::extract::{Named, Query as Asked};
use http_server::openapi::{Operation, OperationOutput};
use postgrest::RestTable;
use postgrest::ast::{ColumnCondition, ComparisonOperator, OrderTerm, RowFilter, RowQuery};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use storage::Storage;
use storage::branches::AsideMessage;
use storage::chat_settings::ChatMarks;
use storage::model_providers::ModelProvider;

use super::auth::UserBody;
use super::usage::DayUsageDto;
use crate::chat_lookup::ChatLookup;
use crate::signed_in::SignedIn;

/// Number of rows per query. A message can be large, so few are held at a time.
const QUERY_ROWS: u64 = 20;

/// Maximum number of messages in a Markdown document, which is built in memory.
const MAX_MARKDOWN_MESSAGES: i64 = 100_000;

/// The export of an account. It is generated while it is sent and has no type, so its schema is written manually.
#[derive(Debug)]
pub struct AccountExport(Response);

impl IntoResponse for AccountExport {
    fn into_response(self) -> Response {
        self.0
    }
}

impl OperationOutput for AccountExport {
    fn describe(operation: &mut Operation<'_>) {
        let usage = operation.response_schema::<DayUsageDto>();
        let mut schema = chats_schema();
        schema["required"] =
            json!(["format", "version", "exportedAt", "profile", "providers", "usage", "connections", "chats"]);
        schema["properties"]["profile"] = json!({ "$ref": "#/components/schemas/User" });
        schema["properties"]["providers"] = json!({
            "type": "array",
            "items": {
                "type": "object",
                "required": ["id", "prefix", "name", "kind", "baseUrl", "hasKey", "createdAt"],
                "properties": { "hasKey": { "type": "boolean" } },
            },
        });
        schema["properties"]["usage"] = json!({ "type": "array", "items": usage });
        schema["properties"]["connections"] = json!({ "type": "array", "items": { "type": "object" } });
        operation.add_content(StatusCode::OK, "A download.", "application/json", schema);
        operation.add_response_header(StatusCode::OK, "Content-Disposition");
    }
}

/// The export of one chat, in the requested format.
#[derive(Debug)]
pub struct ChatExport(Response);

impl IntoResponse for ChatExport {
    fn into_response(self) -> Response {
        self.0
    }
}

impl OperationOutput for ChatExport {
    fn describe(operation: &mut Operation<'_>) {
        let mut schema = chats_schema();
        schema["properties"]["chats"]["minItems"] = 1.into();
        schema["properties"]["chats"]["maxItems"] = 1.into();
        operation.add_content(StatusCode::OK, "A download.", "application/json", schema);
        operation.add_content(StatusCode::OK, "A download.", "text/markdown", json!({ "type": "string" }));
        operation.add_response_header(StatusCode::OK, "Content-Disposition");
    }
}

/// Returns the schema of what every export has: the [head](document_head) and chats.
fn chats_schema() -> Value {
    json!({
        "type": "object",
        "required": ["format", "version", "exportedAt", "chats"],
        "properties": {
            "format": { "const": EXPORT_FORMAT },
            "version": { "const": EXPORT_VERSION },
            "exportedAt": { "type": "string", "format": "date-time" },
            "chats": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["messages"],
                    "properties": { "messages": { "type": "array", "items": { "type": "object" } } },
                },
            },
        },
    })
}

/// Streams all data of the user as JSON (`GET /api/account/export`).
pub async fn export_account(
    State(storage): State<Storage>,
    State(clock): State<Arc<dyn Clock>>,
    caller: SignedIn,
) -> Result<AccountExport, ApiError> {
    let user = storage.users().get(caller.user).await?.ok_or(ApiError::Unauthorized)?;
    let profile = serde_json::to_string(&UserBody::from(user)).map_err(|error| ApiError::Internal(error.into()))?;
    let providers = storage.model_providers().list(caller.user).await?;
    let providers: Vec<String> = providers.iter().map(provider_row).collect();
    // One row per model and day: few enough to be read at once.
    let usage = storage.usage().costs_by_day(caller.user, Timestamp(0), Timestamp(i64::MAX)).await?.into_iter();
    let usage = usage.map(|day| serde_json::to_string(&DayUsageDto::from(day))).collect::<serde_json::Result<Vec<_>>>();
    let usage = usage.map_err(|error| ApiError::Internal(error.into()))?;
    let head = format!(
        "{},\n\"profile\": {profile},\n\"providers\": [{}],\n\"usage\": [{}],\n\"connections\": [",
        document_head(clock.now()),
        join_rows(&providers, true),
        join_rows(&usage, true)
    );
    let first = Step::Connections(Cursor::default());
    Ok(AccountExport(stream_document(storage, clock.now(), caller.user, head, first).await?))
}

/// Returns a [`ModelProvider`] as JSON. The key is left out.
fn provider_row(provider: &ModelProvider) -> String {
    let ModelProvider { id, slug, name, kind, base_url, secret, created_at, .. } = provider;
    let has_key = secret.is_some();
    json!({ "id": id, "prefix": slug, "name": name, "kind": kind, "baseUrl": base_url, "hasKey": has_key, "createdAt": created_at })
        .to_string()
}

/// Query parameters of [`export_chat`].
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ExportQuery {
    /// Format of the file.
    #[serde(default)]
    #[schemars(extend("enum" = ["json", "markdown"], "default" = "json"))]
    format: Option<String>,
}

/// Streams one chat as JSON or returns it as Markdown (`GET /api/sessions/{id}/export?format=`).
pub async fn export_chat(
    State(chats): State<ChatLookup>,
    State(storage): State<Storage>,
    State(clock): State<Arc<dyn Clock>>,
    caller: SignedIn,
    Named(chat): Named,
    Asked(form): Asked<ExportQuery>,
) -> Result<ChatExport, ApiError> {
    let chat = chats.find_stored(caller.user, &chat).await?;
    match form.format.as_deref() {
        None | Some("json") => {
            let head = format!("{},\n\"chats\": [", document_head(clock.now()));
            Ok(ChatExport(stream_document(storage, clock.now(), caller.user, head, Step::OneChat(chat)).await?))
        }
        Some("markdown") => {
            let found = storage.chats().get(caller.user, chat).await?.ok_or(ApiError::NotFound("session"))?;
            let messages = storage.chats().list_messages(caller.user, chat, MAX_MARKDOWN_MESSAGES).await?;
            let headers = file_headers("text/markdown; charset=utf-8", "chat", "md", clock.now());
            Ok(ChatExport((headers, markdown::document(&found.title, &messages)).into_response()))
        }
        Some(_) => Err(ApiError::BadRequest("format must be json or markdown".into())),
    }
}

/// Returns the beginning of the JSON document: format, version and date, without the closing brace.
fn document_head(now: Timestamp) -> String {
    let about = json!({ "format": EXPORT_FORMAT, "version": EXPORT_VERSION, "exportedAt": now });
    // The last value is a text, so exactly one brace is cut.
    about.to_string().trim_end_matches('}').to_owned()
}

/// Returns the headers of a download whose file name contains the date.
fn file_headers(kind: &str, name: &str, ending: &str, now: Timestamp) -> [(header::HeaderName, String); 3] {
    [
        (header::CONTENT_TYPE, kind.to_owned()),
        (header::CONTENT_DISPOSITION, format!("attachment; filename=\"ai-chat-mcp-{name}-{}.{ending}\"", date_of(now))),
        // The browser's cache on a shared computer must not keep a copy of all chats.
        (header::CACHE_CONTROL, "no-store".to_owned()),
    ]
}

/// Streams `head`, and then the document from the [`Step`] `first` on.
async fn stream_document(
    storage: Storage,
    now: Timestamp,
    owner: UserId,
    head: String,
    first: Step,
) -> Result<Response, ApiError> {
    let marks = storage.chat_settings().list(owner).await?.into_iter().map(|(chat, marks)| (chat.to_string(), marks));
    let marks: HashMap<String, ChatMarks> = marks.collect();
    let name = if matches!(first, Step::OneChat(_)) { "chat" } else { "export" };
    let headers = file_headers("application/json", name, "json", now);
    let writer = ExportWriter { storage, owner, marks, next: VecDeque::from([first]) };
    // The status has been sent by the time an error occurs. Ending the body with an error breaks the connection, so
    // that the client does not take the document for complete.
    let pieces = stream::unfold(Some(writer), |writer| async {
        let mut writer = writer?;
        match writer.next_chunk().await {
            Ok(Some(piece)) => Some((Ok(piece), Some(writer))),
            Ok(None) => None,
            Err(error) => {
                tracing::error!(error = format!("{error:#}"), "an export was interrupted");
                Some((Err(error), None))
            }
        }
    });
    // The head is complete before the response begins, so its errors still have a status.
    let body = stream::once(async { Ok(Bytes::from(head)) }).chain(pieces);
    Ok((headers, Body::from_stream(body)).into_response())
}

/// Position in a table.
#[derive(Debug, Default)]
struct Cursor {
    /// The row that was written last.
    last: Option<RowPosition>,
}

/// The columns by which rows are ordered.
#[derive(Debug, Clone, Deserialize)]
struct RowPosition {
    id: String,
    created_at: String,
}

/// The next part of the document to write.
#[derive(Debug)]
enum Step {
    Connections(Cursor),
    Chats(Cursor),
    /// A single chat.
    OneChat(ChatId),
    /// The row of a chat; its messages follow.
    Chat {
        row: String,
        first: bool,
    },
    Messages {
        chat: String,
        cursor: Cursor,
    },
    /// The messages of a chat's other branches.
    Branches {
        chat: String,
    },
    /// The list of a chat's files.
    Files {
        chat: String,
    },
    File {
        file: FileRef,
        first: bool,
    },
    Text(&'static str),
}

/// Generator of the document's chunks. A stack of [`Step`]s stands for the nesting, so that only a few rows are in
/// memory however large the document is.
struct ExportWriter {
    storage: Storage,
    owner: UserId,
    /// Pinned and archived flags, by chat id.
    marks: HashMap<String, ChatMarks>,
    next: VecDeque<Step>,
}

impl ExportWriter {
    /// Returns the next chunk of the document; `None` after the end. An empty chunk is possible.
    async fn next_chunk(&mut self) -> anyhow::Result<Option<Bytes>> {
        let Some(step) = self.next.pop_front() else { return Ok(None) };
        let text = match step {
            Step::Text(text) => text.to_owned(),
            Step::Connections(cursor) => {
                let first = cursor.last.is_none();
                let rows = self.read_rows(RestTable::McpServers, None, &cursor).await?;
                self.next.push_front(match last_position(&rows)? {
                    Some(last) => Step::Connections(Cursor { last: Some(last) }),
                    None => Step::Chats(Cursor::default()),
                });
                if rows.is_empty() { "],\n\"chats\": [".to_owned() } else { join_rows(&rows, first) }
            }
            Step::Chats(cursor) => {
                let first = cursor.last.is_none();
                let rows = self.read_rows(RestTable::Sessions, None, &cursor).await?;
                let Some(last) = last_position(&rows)? else {
                    return Ok(Some(Bytes::from_static(b"]}\n")));
                };
                self.next.push_front(Step::Chats(Cursor { last: Some(last) }));
                // Pushed in reverse: each chat with its messages is written before the next page of chats.
                for (index, row) in rows.into_iter().enumerate().rev() {
                    self.next.push_front(Step::Chat { row, first: first && index == 0 });
                }
                String::new()
            }
            Step::OneChat(chat) => {
                // The same query as for all chats, so that the row has the same columns.
                let by_id = RowFilter::Column(
                    "id".to_owned(),
                    ColumnCondition::Compare(ComparisonOperator::Equal, chat.to_string()),
                );
                let query = RowQuery { filters: vec![by_id], ..RowQuery::default() };
                let page = postgrest::read_rows(&self.storage, Some(self.owner), RestTable::Sessions, &query).await?;
                self.next.extend(page.rows.into_iter().map(|row| Step::Chat { row, first: true }));
                // At the end of the queue: the other steps of the chat are pushed to the front.
                self.next.push_back(Step::Text("]}\n"));
                String::new()
            }
            Step::Chat { row, first } => {
                let chat = serde_json::from_str::<RowPosition>(&row)?.id;
                // The row of the database is the object to which the other fields are added, so its closing brace
                // goes.
                let open = row.strip_suffix('}').context("a row is an object")?;
                let marks = self.marks.get(&chat).copied().unwrap_or_default();
                let pinned = if marks.pinned { ",\"pinned\":true" } else { "" };
                let archived = if marks.archived { ",\"archived\":true" } else { "" };
                let model = match self.storage.models().get_of_chat(self.owner, chat.parse()?).await? {
                    Some(model) => format!(",\"model\":{}", serde_json::to_string(&model)?),
                    None => String::new(),
                };
                let settings = self.storage.models().get_chat_settings(self.owner, chat.parse()?).await?;
                let settings = if settings == ModelSettings::default() {
                    String::new()
                } else {
                    format!(",\"settings\":{}", serde_json::to_string(&settings)?)
                };
                self.next.push_front(Step::Messages { chat, cursor: Cursor::default() });
                format!("{}{open}{pinned}{archived}{model}{settings},\"messages\":[", separator(first))
            }
            Step::Messages { chat, cursor } => {
                let first = cursor.last.is_none();
                let rows = self.read_rows(RestTable::Messages, Some(&chat), &cursor).await?;
                self.next.push_front(match last_position(&rows)? {
                    Some(last) => Step::Messages { chat, cursor: Cursor { last: Some(last) } },
                    None => Step::Branches { chat },
                });
                join_rows(&rows, first)
            }
            Step::Branches { chat } => {
                let aside = self.storage.branches().list_inactive(self.owner, chat.parse()?).await?;
                self.next.push_front(Step::Files { chat });
                let rows = aside.iter().map(branch_row).collect::<serde_json::Result<Vec<_>>>()?;
                if rows.is_empty() { "]".to_owned() } else { format!("],\"branches\":[{}]", join_rows(&rows, true)) }
            }
            Step::Files { chat } => {
                let files = self.storage.files().list(self.owner, chat.parse()?).await?;
                if files.is_empty() {
                    return Ok(Some(Bytes::from_static(b"}")));
                }
                self.next.push_front(Step::Text("]}"));
                for (index, stored) in files.into_iter().enumerate().rev() {
                    self.next.push_front(Step::File { file: stored.file, first: index == 0 });
                }
                ",\"files\":[".to_owned()
            }
            Step::File { file, first } => {
                // A file that was deleted since the listing, or whose content is lost, is exported as an empty one.
                let bytes = match self.storage.files().get_bytes(self.owner, file.id).await {
                    Err(storage::Error::MissingContent) => Vec::new(),
                    bytes => bytes?.unwrap_or_default(),
                };
                let row = serde_json::to_string(&FileOfFile { file, bytes: STANDARD.encode(bytes) })?;
                format!("{}{row}", separator(first))
            }
        };
        Ok(Some(text.into()))
    }

    /// Returns the owner's next rows after `cursor`, oldest first.
    async fn read_rows(&self, table: RestTable, chat: Option<&str>, cursor: &Cursor) -> anyhow::Result<Vec<String>> {
        let test = |column: &str, comparison, value: &str| {
            RowFilter::Column(column.to_owned(), ColumnCondition::Compare(comparison, value.to_owned()))
        };
        let mut filters: Vec<RowFilter> =
            chat.into_iter().map(|chat| test("session_id", ComparisonOperator::Equal, chat)).collect();
        // Keyset pagination: creation times are not unique, so the id breaks ties, and no row is skipped or repeated.
        if let Some(RowPosition { id, created_at }) = &cursor.last {
            let same_time = vec![
                test("created_at", ComparisonOperator::Equal, created_at),
                test("id", ComparisonOperator::Greater, id),
            ];
            let later = test("created_at", ComparisonOperator::Greater, created_at);
            filters.push(RowFilter::Any(vec![later, RowFilter::All(same_time)]));
        }
        let order = ["created_at", "id"].map(|column| OrderTerm {
            column: column.to_owned(),
            descending: false,
            nulls_first: None,
        });
        let query = RowQuery { filters, order: order.to_vec(), limit: Some(QUERY_ROWS), ..RowQuery::default() };
        let page = postgrest::read_rows(&self.storage, Some(self.owner), table, &query).await?;
        Ok(page.rows)
    }
}

/// Returns an [`AsideMessage`] in the columns of the rest API, with its parent.
fn branch_row(row: &AsideMessage) -> serde_json::Result<String> {
    #[derive(Serialize)]
    struct Written<'a> {
        id: MessageId,
        session_id: ChatId,
        role: &'a str,
        content: &'a str,
        tool_calls: &'a RawValue,
        parts: Option<&'a RawValue>,
        status: Option<&'a str>,
        error: Option<&'a str>,
        model: Option<&'a str>,
        created_at: Timestamp,
        parent_id: Option<MessageId>,
    }
    serde_json::to_string(&Written {
        id: MessageId(row.id),
        session_id: ChatId(row.session_id),
        role: &row.role,
        content: &row.content,
        // The column has JSON as text, which is copied without being decoded.
        tool_calls: serde_json::from_str(&row.tool_calls)?,
        parts: row.parts.as_deref().map(serde_json::from_str).transpose()?,
        status: row.status.as_deref(),
        error: row.error.as_deref(),
        model: row.model.as_deref(),
        created_at: Timestamp(row.created_at),
        parent_id: row.parent_id.map(MessageId),
    })
}

/// Returns the position ([`RowPosition`]) of the last row.
fn last_position(rows: &[String]) -> serde_json::Result<Option<RowPosition>> {
    rows.last().map(|row| serde_json::from_str(row)).transpose()
}

/// Joins rows by commas. `first` says that the list is still empty.
fn join_rows(rows: &[String], first: bool) -> String {
    let mut text = String::new();
    for (index, row) in rows.iter().enumerate() {
        text.push_str(separator(first && index == 0));
        text.push_str(row);
    }
    text
}

/// Returns the separator before an element of a list.
fn separator(first: bool) -> &'static str {
    if first { "\n" } else { ",\n" }
}

/// Returns the date of `now` in UTC, as `YYYY-MM-DD`.
fn date_of(now: Timestamp) -> String {
    now.to_rfc3339().chars().take_while(|character| *character != 'T').collect()
}
