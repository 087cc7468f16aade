//! The rest API: the subset of PostgREST for the three tables of the specification.
//!
//! A request is parsed into the syntax tree of [`postgrest::ast`]. Nothing is ignored: unsupported syntax is
//! rejected with PostgREST's error codes. Ownership is not checked here but enforced by the builder of statements in `postgrest`.

mod body;
mod error;
mod reply;

use std::collections::BTreeMap;
use std::sync::Arc;

use accounts::gotrue_error::{EXPIRED_JWT, INSUFFICIENT_AAL};
use accounts::{AccountService, AuthError};
use agent::chats::temporary::TemporaryChats;
use agent::models::quota::QuotaService;
use agent::turns::TurnService;
use axum::extract::rejection::PathRejection;
use axum::extract::{FromRef, Path, RawQuery, Request, State};
use axum::response::{IntoResponse, Response};
use connections::{ConnectionService, headers, url_query};
use domain::{ChatId, Clock, UserId};
use http::request::Parts;
use http::{Method, StatusCode, Uri, header};
use http_server::extract::bearer;
use http_server::route::Access::{Anyone, OwnRows};
use http_server::route::{Section, delete as remove, get, options, patch, post};
use platform::{AuditLog, BackgroundTasks, SecretSealer, UserEvent, UserEventBus};
use postgrest::ast::{ColumnCondition, ComparisonOperator, OnConflict, RowFilter, RowQuery, WriteBody, WriteOptions};
use postgrest::request::{
    self, ConflictResolution, QueryParameters, RequestPreferences, ResultFormat, ReturnPreference,
};
use postgrest::{ConnectionSealer, PgError, PostgrestError, RestTable, WriteContext};
use storage::Storage;
use storage::audit_events::{AuditEventKind, NewAuditEvent};
use uuid::Uuid;

use crate::AppState;
use error::RestError;
use reply::Reply;

/// Maximum length of path and query, in bytes.
const URL_LIMIT: usize = 8 * 1024;

/// Returns the routes of the tables, and PostgREST's errors for everything else.
pub fn section() -> Section<AppState> {
    let no_root = async || RestError::from(PgError::new("PGRST126", "Root endpoint metadata is disabled"));
    let no_functions = |name: Result<Path<String>, PathRejection>| async move {
        let Ok(Path(name)) = name else { return invalid_path() };
        let message = format!("Could not find the function public.{name} in the schema cache");
        RestError::from(PgError::new("PGRST202", message))
    };
    let routes = [
        get("/", Anyone, no_root),
        get("/{table}", OwnRows, handle_table),
        post("/{table}", OwnRows, handle_table),
        patch("/{table}", OwnRows, handle_table),
        remove("/{table}", OwnRows, handle_table),
        options("/{table}", OwnRows, handle_table),
        get("/rpc/{name}", Anyone, no_functions),
        post("/rpc/{name}", Anyone, no_functions),
    ];
    Section::new("/rest/v1", routes, |routes| {
        routes.fallback(async || invalid_path()).method_not_allowed_fallback(async |method: Method, uri: Uri| {
            RestError::from(if uri.path().starts_with("/rpc/") {
                PgError::new("PGRST101", format!("Cannot use the {method} method on RPC"))
            } else {
                unsupported_method(&method)
            })
        })
    })
}

/// Returns PostgREST's error for an unknown path.
fn invalid_path() -> RestError {
    PgError::new("PGRST125", "Invalid path specified in request URL").into()
}

/// Returns PostgREST's error for an unsupported method.
fn unsupported_method(method: &Method) -> PgError {
    PgError::new("PGRST117", format!("Unsupported HTTP method: {method}"))
}

/// Encryption of the secrets in one user's connections: headers and the query of the URL.
struct OwnerSealer<'a> {
    secrets: &'a SecretSealer,
    owner: UserId,
}

impl ConnectionSealer for OwnerSealer<'_> {
    fn seal_headers(&self, plain: &BTreeMap<String, String>) -> Option<Vec<u8>> {
        headers::seal(self.secrets, self.owner, plain).ok()
    }

    fn seal_url_query(&self, masked: &str, query: &str) -> Option<Vec<u8>> {
        url_query::seal(self.secrets, self.owner, masked, query).ok()
    }
}

/// A parsed request, without its body.
struct RestRequest {
    method: Method,
    table: RestTable,
    parameters: QueryParameters,
    preferences: RequestPreferences,
    form: ResultFormat,
    caller: Option<UserId>,
}

/// Handles every request for a table.
async fn handle_table(
    State(api): State<RestApi>,
    name: Result<Path<String>, PathRejection>,
    RawQuery(query): RawQuery,
    request: Request,
) -> Response {
    let Ok(Path(name)) = name else { return invalid_path().into_response() };
    let (parts, body) = request.into_parts();
    let result = async {
        let caller = api.identify(&parts).await?;
        let asked = parse_request(&parts, &name, query.as_deref().unwrap_or_default(), caller);
        let answered = match asked {
            Ok(asked) => api.respond(asked, &parts, body).await,
            Err(refusal) => Err(refusal),
        };
        // The same error has another status for callers without a session, so it is adjusted at the end.
        answered.map_err(|refusal| refusal.seen_by(caller))
    };
    result.await.unwrap_or_else(IntoResponse::into_response)
}

/// Returns the `apikey` header, which identifies the client application rather than a user.
fn public_key(parts: &Parts) -> Option<&str> {
    parts.headers.get("apikey")?.to_str().ok()
}

/// Maps a failed token check to PostgREST's errors, which the official client understands.
fn token_error(error: AuthError) -> RestError {
    match error {
        AuthError::Internal(error) => RestError::internal(error),
        AuthError::GoTrue(refusal) if refusal == EXPIRED_JWT => PgError::new("PGRST303", "JWT expired").into(),
        AuthError::GoTrue(refusal) if refusal == INSUFFICIENT_AAL => {
            PgError::new("42501", "permission denied: verify your second factor first").into()
        }
        AuthError::GoTrue(refusal) if refusal.code == "session_not_found" => {
            PgError::new("PGRST303", "The JWT's sign-in has ended").into()
        }
        _ => PgError::new("PGRST301", "No suitable key or wrong key type").into(),
    }
}

/// Parses method, path, query and headers.
fn parse_request(parts: &Parts, name: &str, query: &str, caller: Option<UserId>) -> Result<RestRequest, RestError> {
    if parts.uri.path().len() + query.len() > URL_LIMIT {
        return Err(RestError::new(StatusCode::URI_TOO_LONG, PgError::new("PGRST100", "The URL is longer than 8 KiB")));
    }
    let method = parts.method.clone();
    // Range requests would be ignored silently by a partial implementation, and the client would take one page for
    // all rows.
    request::check_schema(&method, &parts.headers)?;
    if method == Method::GET && parts.headers.contains_key(header::RANGE) {
        return Err(PgError::not_implemented("the header Range; use limit and offset").into());
    }
    let table = RestTable::named(name)?;
    let parameters = QueryParameters::parse(table, query)?;
    let preferences = RequestPreferences::parse(&parts.headers)?;
    let form = request::parse_accept(&parts.headers)?;
    Ok(RestRequest { method, table, parameters, preferences, form, caller })
}

/// The services that requests for rows need.
#[derive(Debug, Clone)]
struct RestApi {
    accounts: AccountService,
    storage: Storage,
    temporary: TemporaryChats,
    secrets: Arc<SecretSealer>,
    clock: Arc<dyn Clock>,
    turns: TurnService,
    connections: ConnectionService,
    events: UserEventBus,
    tasks: BackgroundTasks,
    audit: AuditLog,
    quotas: QuotaService,
}

impl FromRef<AppState> for RestApi {
    fn from_ref(state: &AppState) -> Self {
        Self {
            accounts: state.accounts.clone(),
            storage: state.storage.clone(),
            temporary: state.temporary.clone(),
            secrets: Arc::clone(&state.secrets),
            clock: Arc::clone(&state.clock),
            turns: state.turns.clone(),
            connections: state.connections.clone(),
            events: state.events.clone(),
            tasks: state.tasks.clone(),
            audit: state.audit.clone(),
            quotas: state.models.quotas.clone(),
        }
    }
}

impl RestApi {
    /// Identifies the caller, or returns `None` for an anonymous one. The official client sends its public key as the
    /// bearer token while no user is signed in; any other token must be a valid JWT.
    async fn identify(&self, parts: &Parts) -> Result<Option<UserId>, RestError> {
        let Some(token) = bearer(parts) else { return Ok(None) };
        let count = token.split('.').count();
        // A JWT has three parts, so a key of another form cannot be taken for one.
        if token.starts_with("sb_publishable_") || (count != 3 && public_key(parts) == Some(token)) {
            return Ok(None);
        }
        if count != 3 {
            return Err(PgError::new("PGRST301", format!("Expected 3 parts in JWT; got {count}")).into());
        }
        self.accounts.verify(token).await.map(|claims| Some(claims.user)).map_err(token_error)
    }

    /// Runs a request for a table. The caller is checked before the body is read.
    async fn respond(&self, asked: RestRequest, parts: &Parts, body: axum::body::Body) -> Result<Response, RestError> {
        match asked.method {
            Method::GET | Method::HEAD => self.read_rows(asked).await,
            Method::POST => {
                asked.writer()?;
                let records = body::read(parts, body, asked.table).await?;
                self.insert_rows(asked, records).await
            }
            Method::PATCH => {
                asked.writer()?;
                let records = body::read(parts, body, asked.table).await?;
                self.update_rows(asked, records).await
            }
            Method::DELETE => self.delete_rows(asked).await,
            Method::OPTIONS => Ok(reply::options()),
            method => Err(unsupported_method(&method).into()),
        }
    }

    /// Reads rows (`GET` and `HEAD`).
    async fn read_rows(&self, asked: RestRequest) -> Result<Response, RestError> {
        let RestRequest { parameters, .. } = asked;
        reject_unsupported("columns", parameters.columns.is_some())?;
        reject_unsupported("on_conflict", parameters.on_conflict.is_some())?;
        let query = RowQuery {
            select: parameters.select.unwrap_or_default(),
            filters: parameters.filters,
            order: parameters.order.unwrap_or_default(),
            limit: parameters.limit,
            // PostgREST ignores the offset when no rows are requested.
            offset: parameters.offset.filter(|_| parameters.limit != Some(0)).unwrap_or(0),
            count: asked.preferences.count.is_some(),
        };
        let home = self.store_for(asked.caller, asked.table, &query.filters);
        let page = postgrest::read_rows(&home, asked.caller, asked.table, &query).await?;
        // A single object requires exactly one row.
        if asked.form == ResultFormat::Object && page.rows.len() != 1 {
            return Err(PgError::not_single_row(page.rows.len()).into());
        }
        let status = reply::page_status(query.offset, page.rows.len(), page.total)
            .map_err(|error| RestError::from(error).with_range(page.total))?;
        let range = reply::range(query.offset, page.rows.len(), page.total);
        let applied = asked.preferences.applied(&asked.method);
        Ok(Reply { status, range, applied, location: None, rows: Some(page.rows), form: asked.form }.into_response())
    }

    /// Returns the store of the rows. Messages of a temporary chat are in memory, and a filter by the chat's id is how
    /// clients read them.
    fn store_for(&self, caller: Option<UserId>, table: RestTable, filters: &[RowFilter]) -> Storage {
        let chat = filters.iter().filter(|_| table == RestTable::Messages).find_map(|filter| match filter {
            RowFilter::Column(column, ColumnCondition::Compare(ComparisonOperator::Equal, id))
                if column == "session_id" =>
            {
                id.parse().ok()
            }
            _ => None,
        });
        caller.zip(chat).map_or_else(|| self.storage.clone(), |(caller, chat)| self.temporary.store_for(caller, chat))
    }

    /// Inserts or upserts rows.
    async fn insert_rows(&self, asked: RestRequest, records: body::Records) -> Result<Response, RestError> {
        let writer = asked.writer()?;
        let QueryParameters { columns, on_conflict, filters, .. } = &asked.parameters;
        reject_unsupported("a filter", !filters.is_empty())?;
        let names = on_conflict.clone().unwrap_or_default();
        let conflict = match asked.preferences.resolution {
            Some(ConflictResolution::Merge) => OnConflict::Merge(names),
            Some(ConflictResolution::Ignore) => OnConflict::Ignore(names),
            None if on_conflict.is_some() => return Err(no_resolution().into()),
            None => OnConflict::Fail,
        };
        let body = asked.body(records, columns.as_ref());
        let outcome = asked.outcome();
        let sealer = OwnerSealer { secrets: &self.secrets, owner: writer };
        let events = self.connection_events(writer, asked.table, AuditEventKind::ConnectionCreated);
        let max_rows = match asked.table {
            RestTable::McpServers => self.quotas.get_max_connections(writer).await.map_err(PostgrestError::from)?,
            RestTable::Sessions | RestTable::Messages => None,
        };
        let change_events = self.connection_events(writer, asked.table, AuditEventKind::ConnectionChanged);
        let (now, sealer) = (self.clock.now(), &sealer);
        let by = WriteContext { owner: writer, now, sealer, events: &events, change_events: &change_events, max_rows };
        let written = postgrest::insert_rows(&self.storage, by, asked.table, &body, &conflict, &outcome).await?;
        self.notify_changed(writer, asked.table, &written.ids);

        // PostgREST responds 200 to an upsert that only updated.
        let none_new = matches!(conflict, OnConflict::Merge(_)) && written.inserted == 0;
        let status = if none_new { StatusCode::OK } else { StatusCode::CREATED };
        let location = match (asked.preferences.returning, written.ids.as_slice()) {
            (Some(ReturnPreference::HeadersOnly), [id]) => Some(format!("/rest/v1/{}?id=eq.{id}", asked.table.name())),
            _ => None,
        };
        let range = asked.total(written.ids.len());
        Ok(asked.reply(status, range, location, written.rows).into_response())
    }

    /// Updates the rows that match the filters.
    async fn update_rows(&self, asked: RestRequest, records: body::Records) -> Result<Response, RestError> {
        let writer = asked.writer()?;
        asked.refuse_unfiltered("UPDATE")?;
        reject_unsupported("on_conflict", asked.parameters.on_conflict.is_some())?;
        if records.records.len() > 1 {
            return Err(PgError::new("PGRST102", "One object is expected in the body of an update").into());
        }
        let body = asked.body(records, asked.parameters.columns.as_ref());
        let sealer = OwnerSealer { secrets: &self.secrets, owner: writer };
        let change_events = self.connection_events(writer, asked.table, AuditEventKind::ConnectionChanged);
        let (now, sealer) = (self.clock.now(), &sealer);
        let by =
            WriteContext { owner: writer, now, sealer, events: &[], change_events: &change_events, max_rows: None };
        let (filters, outcome) = (&asked.parameters.filters, asked.outcome());
        let written = postgrest::update_rows(&self.storage, by, asked.table, &body, filters, &outcome).await?;
        self.notify_changed(writer, asked.table, &written.ids);

        let total = asked.preferences.count.map(|_| written.ids.len() as u64);
        let range = reply::range(0, written.ids.len(), total);
        Ok(asked.reply(asked.done(), range, None, written.rows).into_response())
    }

    /// Deletes rows. Running turns of deleted chats are stopped.
    async fn delete_rows(&self, asked: RestRequest) -> Result<Response, RestError> {
        let writer = asked.writer()?;
        asked.refuse_unfiltered("DELETE")?;
        reject_unsupported("columns", asked.parameters.columns.is_some())?;
        reject_unsupported("on_conflict", asked.parameters.on_conflict.is_some())?;
        let (filters, outcome) = (&asked.parameters.filters, asked.outcome());
        let (now, events) =
            (self.clock.now(), self.connection_events(writer, asked.table, AuditEventKind::ConnectionDeleted));
        let written =
            postgrest::delete_rows(&self.storage, writer, now, asked.table, filters, &outcome, &events).await?;
        if asked.table == RestTable::Sessions {
            for id in &written.ids {
                // Their turns would write to a chat that no longer exists.
                self.turns.stop_deleted_chat(writer, ChatId(*id));
            }
        }
        self.notify_changed(writer, asked.table, &written.ids);

        let range = asked.total(written.ids.len());
        Ok(asked.reply(asked.done(), range, None, written.rows).into_response())
    }

    /// Returns the audit events of each row that is inserted into, changed in or deleted from a table.
    fn connection_events(&self, user: UserId, table: RestTable, kind: AuditEventKind) -> Vec<NewAuditEvent> {
        match table {
            RestTable::McpServers => self.audit.by_user(user, kind),
            RestTable::Sessions | RestTable::Messages => Vec::new(),
        }
    }

    /// Notifies other services and the user's web apps of written rows.
    fn notify_changed(&self, user: UserId, table: RestTable, ids: &[Uuid]) {
        if ids.is_empty() {
            return;
        }
        match table {
            RestTable::McpServers => {
                // In the background, since a changed connection may have to be closed and the client need not wait for
                // that.
                let connections = self.connections.clone();
                self.tasks.spawn("reconcile", async move {
                    if let Err(error) = connections.reconcile(user).await {
                        tracing::error!(%error, "the connections of a user could not be refreshed");
                    }
                });
            }
            RestTable::Sessions => {
                // One event for several chats: clients then reload the list.
                let session_id = match ids {
                    [id] => Some(ChatId(*id)),
                    _ => None,
                };
                self.events.publish(user, &UserEvent::Session { session_id, marks: None });
            }
            RestTable::Messages => {}
        }
    }
}

impl RestRequest {
    /// Returns the user who writes. Rejects anonymous callers, and `limit` and `offset`, which would make it
    /// ambiguous which rows are written.
    fn writer(&self) -> Result<UserId, RestError> {
        let writer = self.caller.ok_or_else(|| match self.method {
            Method::POST => PgError::row_level_security(self.table),
            _ => PgError::permission_denied(self.table),
        })?;
        reject_unsupported("limit", self.parameters.limit.is_some())?;
        reject_unsupported("offset", self.parameters.offset.is_some())?;
        Ok(writer)
    }

    /// Rejects a write without a filter, which is most often a mistake and would affect all of the user's rows.
    fn refuse_unfiltered(&self, verb: &str) -> Result<(), PgError> {
        if self.parameters.filters.is_empty() {
            return Err(PgError::new("21000", format!("{verb} requires a WHERE clause")));
        }
        Ok(())
    }

    /// Builds the body of the store's statement.
    fn body(&self, records: body::Records, columns: Option<&Vec<String>>) -> WriteBody {
        WriteBody {
            columns: columns.cloned(),
            records: records.records,
            missing_is_default: self.preferences.missing_is_default == Some(true),
        }
    }

    /// Builds the description of what the statement returns.
    fn outcome(&self) -> WriteOptions {
        let wanted = self.preferences.returning == Some(ReturnPreference::Representation);
        WriteOptions {
            select: wanted.then(|| self.parameters.select.clone().unwrap_or_default()),
            order: self.parameters.order.clone().unwrap_or_default(),
            single: self.form == ResultFormat::Object,
            max_affected: self.preferences.max_affected(&self.method),
        }
    }

    /// Returns `Content-Range` of an insert or a delete: the number of rows, if the client asked for it.
    fn total(&self, rows: usize) -> String {
        reply::range(0, 0, self.preferences.count.map(|_| rows as u64))
    }

    /// Returns the status of a successful update or delete.
    fn done(&self) -> StatusCode {
        if self.preferences.returning == Some(ReturnPreference::Representation) {
            StatusCode::OK
        } else {
            StatusCode::NO_CONTENT
        }
    }

    /// Builds the response of a write, with rows only if the client asked for them.
    fn reply(&self, status: StatusCode, range: String, location: Option<String>, rows: Vec<String>) -> Reply {
        let wanted = self.preferences.returning == Some(ReturnPreference::Representation);
        let applied = self.preferences.applied(&self.method);
        Reply { status, range, applied, location, rows: wanted.then_some(rows), form: self.form }
    }
}

/// Rejects a parameter that the method does not support.
fn reject_unsupported(what: &str, given: bool) -> Result<(), PgError> {
    if given { Err(PgError::not_implemented(format!("{what} in a request of this method"))) } else { Ok(()) }
}

/// Returns the error for `on_conflict` without a resolution.
fn no_resolution() -> PgError {
    PgError::new("PGRST100", "on_conflict needs the preference resolution")
        .with_hint("Prefer: resolution=merge-duplicates or resolution=ignore-duplicates")
}
