//! Everything of a person as one JSON file, read and sent in pieces: no matter how much there is, a few rows of it are in
//! memory at a time.

use std::collections::VecDeque;

use anyhow::Context;
use axum::body::Body;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use domain::{Timestamp, UserId};
use futures_util::stream::{self, StreamExt};
use serde::Deserialize;
use serde_json::json;
use store::rest::ast::{Comparison, Filter, Order, Query, Test};
use store::rest::{Page, Table};

use crate::app::App;
use crate::http::auth::UserBody;
use crate::http::error::ApiError;
use crate::http::extract::SignedIn;

/// The form of the file. It grows when a reader of this one could not read the next.
const VERSION: u32 = 1;
/// Rows that are read at once. A message can be large.
const ROWS: u64 = 20;

/// `GET /api/account/export`
pub async fn export(State(app): State<App>, caller: SignedIn) -> Result<Response, ApiError> {
    let user = app.store.get_user(caller.user).await?.ok_or(ApiError::Unauthorized)?;
    let now = app.clock.now();
    let profile = serde_json::to_string(&UserBody::from(user)).map_err(|error| ApiError::Internal(error.into()))?;
    let about = json!({ "format": "ai-chat-mcp-export", "version": VERSION, "exportedAt": now }).to_string();
    let head = format!("{},\n\"profile\": {profile},\n\"connections\": [", about.trim_end_matches('}'));
    let writer = Writer { app, owner: caller.user, next: VecDeque::from([Step::Connections(Cursor::default())]) };
    let pieces = stream::unfold(Some(writer), |writer| async {
        let mut writer = writer?;
        match writer.piece().await {
            Ok(Some(piece)) => Some((Ok(piece), Some(writer))),
            Ok(None) => None,
            Err(error) => {
                tracing::error!(error = format!("{error:#}"), "an export broke off");
                Some((Err(error), None))
            }
        }
    });
    let body = stream::once(async { Ok(Bytes::from(head)) }).chain(pieces);
    let headers = [
        (header::CONTENT_TYPE, "application/json".to_owned()),
        (header::CONTENT_DISPOSITION, format!("attachment; filename=\"ai-chat-mcp-export-{}.json\"", date_of(now))),
        (header::CACHE_CONTROL, "no-store".to_owned()),
    ];
    Ok((headers, Body::from_stream(body)).into_response())
}

/// Where in a table the file is.
#[derive(Debug, Default)]
struct Cursor {
    /// The row that was written last.
    last: Option<Row>,
}

/// What tells where a row stands among the others.
#[derive(Debug, Clone, Deserialize)]
struct Row {
    id: String,
    created_at: String,
}

/// What is to be written next.
#[derive(Debug)]
enum Step {
    Connections(Cursor),
    Chats(Cursor),
    /// One chat; its messages follow.
    Chat {
        row: String,
        first: bool,
    },
    Messages {
        chat: String,
        cursor: Cursor,
    },
    Text(&'static str),
}

struct Writer {
    app: App,
    owner: UserId,
    next: VecDeque<Step>,
}

impl Writer {
    /// The next piece of the file; `None` after its end.
    async fn piece(&mut self) -> anyhow::Result<Option<Bytes>> {
        let Some(step) = self.next.pop_front() else { return Ok(None) };
        let text = match step {
            Step::Text(text) => text.to_owned(),
            Step::Connections(cursor) => {
                let first = cursor.last.is_none();
                let rows = self.rows(Table::McpServers, None, &cursor).await?;
                self.next.push_front(match last_of(&rows)? {
                    Some(last) => Step::Connections(Cursor { last: Some(last) }),
                    None => Step::Chats(Cursor::default()),
                });
                if rows.is_empty() { "],\n\"chats\": [".to_owned() } else { listed(&rows, first) }
            }
            Step::Chats(cursor) => {
                let first = cursor.last.is_none();
                let rows = self.rows(Table::Sessions, None, &cursor).await?;
                let Some(last) = last_of(&rows)? else {
                    return Ok(Some(Bytes::from_static(b"]}\n")));
                };
                self.next.push_front(Step::Chats(Cursor { last: Some(last) }));
                for (index, row) in rows.into_iter().enumerate().rev() {
                    self.next.push_front(Step::Chat { row, first: first && index == 0 });
                }
                String::new()
            }
            Step::Chat { row, first } => {
                let chat = serde_json::from_str::<Row>(&row)?.id;
                self.next.push_front(Step::Messages { chat, cursor: Cursor::default() });
                let open = row.strip_suffix('}').context("a row is an object")?;
                format!("{}{open},\"messages\":[", separator(first))
            }
            Step::Messages { chat, cursor } => {
                let first = cursor.last.is_none();
                let rows = self.rows(Table::Messages, Some(&chat), &cursor).await?;
                self.next.push_front(match last_of(&rows)? {
                    Some(last) => Step::Messages { chat, cursor: Cursor { last: Some(last) } },
                    None => Step::Text("]}"),
                });
                listed(&rows, first)
            }
        };
        Ok(Some(text.into()))
    }

    /// The next rows of the owner, oldest first.
    async fn rows(&self, table: Table, chat: Option<&str>, cursor: &Cursor) -> anyhow::Result<Vec<String>> {
        let test = |column: &str, comparison, value: &str| {
            Filter::Test(column.to_owned(), Test::Compare(comparison, value.to_owned()))
        };
        let mut filters: Vec<Filter> =
            chat.into_iter().map(|chat| test("session_id", Comparison::Equal, chat)).collect();
        if let Some(Row { id, created_at }) = &cursor.last {
            let same_time =
                vec![test("created_at", Comparison::Equal, created_at), test("id", Comparison::Greater, id)];
            let later = test("created_at", Comparison::Greater, created_at);
            filters.push(Filter::Any(vec![later, Filter::All(same_time)]));
        }
        let order = ["created_at", "id"].map(|column| Order {
            column: column.to_owned(),
            descending: false,
            nulls_first: None,
        });
        let query = Query { filters, order: order.to_vec(), limit: Some(ROWS), ..Query::default() };
        let Page { rows, .. } = self.app.store.rest_read(Some(self.owner), table, &query).await?;
        Ok(rows)
    }
}

fn last_of(rows: &[String]) -> serde_json::Result<Option<Row>> {
    rows.last().map(|row| serde_json::from_str(row)).transpose()
}

fn listed(rows: &[String], first: bool) -> String {
    let mut text = String::new();
    for (index, row) in rows.iter().enumerate() {
        text.push_str(separator(first && index == 0));
        text.push_str(row);
    }
    text
}

fn separator(first: bool) -> &'static str {
    if first { "\n" } else { ",\n" }
}

/// The day of a moment, UTC.
fn date_of(now: Timestamp) -> String {
    now.to_rfc3339().chars().take_while(|character| *character != 'T').collect()
}
