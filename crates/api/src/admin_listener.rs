//! The operator's listener: metrics, health probes, and the operator's page with its API, at an address and with a token
//! of their own.

use std::sync::Arc;
use std::time::Duration;

use accounts::admin::AdminKey;
use accounts::{AccountService, RequestOrigin};
use agent::models::ModelService;
use agent::turns::TurnService;
use axum::Json;
use axum::Router;
use axum::extract::{FromRef, FromRequestParts, State};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::middleware::from_extractor_with_state;
use axum::response::{IntoResponse, Response};
use connections::ConnectionService;
use http_server::extract::{Address, TrustedProxies, UserAgent, bearer};
use http_server::headers;
use http_server::route::Access::{Admin, Anyone};
use http_server::route::{Entry, Section, get};
use platform::config::AdminListener;
use platform::metrics::{self, CurrentFigures, MetricsRecorder};
use serde_json::json;
use storage::Storage;
use tokio::time::{Instant, timeout};
use tower_http::catch_panic::CatchPanicLayer;

use crate::limiters::StreamLimiter;
use crate::operator_api::system::OperatorTools;
use crate::{AppState, assets, error, health, operator_api};

/// Format of Prometheus's text.
const METRICS_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";
/// Longest wait for the database. Prometheus gives up after ten seconds, and then has no metrics at all.
const MAX_PING_TIME: Duration = Duration::from_secs(3);

/// Access to the operator's listener: its token, and what it serves beside the services.
#[derive(Debug, Clone)]
pub struct OperatorAccess {
    token: AdminKey,
    recorder: MetricsRecorder,
    /// Diagnostics and backups.
    pub(crate) tools: Arc<dyn OperatorTools>,
}

impl OperatorAccess {
    /// Creates the access from the settings of the listener, the recorder of the process's metrics and the program's tools.
    pub fn new(settings: &AdminListener, recorder: MetricsRecorder, tools: Arc<dyn OperatorTools>) -> Self {
        Self { token: AdminKey::new(&settings.token), recorder, tools }
    }
}

/// Builds the router of the listener.
pub fn build_router(app: &AppState) -> Router {
    // For the whole API, so that no route can forget it.
    let verify_operator = from_extractor_with_state::<VerifiedOperator, AppState>(app.clone());
    let api = operator_api::section().add_to(Router::new()).layer(verify_operator);
    let routes = section().add_to(api).layer(CatchPanicLayer::custom(error::after_panic)).with_state(app.clone());
    // The address of the listener is not that of the site, and may be without TLS.
    headers::security(routes, false)
}

/// Returns method, path and access of every route of the listener, for tests.
pub fn entries() -> Vec<Entry> {
    [section(), operator_api::section()].iter().flat_map(Section::entries).collect()
}

/// Returns the routes of the listener beside its API. They are not part of the API, and so of no OpenAPI document.
fn section() -> Section<AppState> {
    Section::new(
        "",
        [
            get("/metrics", Admin, get_metrics),
            get("/health/live", Anyone, health::check_liveness),
            get("/health/ready", Anyone, health::check_readiness),
            // The page holds nothing: its API asks for the token.
            get("/", Anyone, assets::serve_operator_page),
            get("/assets/{file}", Anyone, assets::serve_operator_page),
            get("/before-paint.js", Anyone, assets::serve_operator_page),
            get("/icon.svg", Anyone, assets::serve_operator_page),
        ],
        |routes| routes.fallback(error::no_such_route).method_not_allowed_fallback(error::method_not_allowed),
    )
}

/// The operator, with `CHAT_ADMIN_TOKEN` as bearer.
#[derive(Debug)]
pub struct VerifiedOperator(pub(crate) OperatorAccess);

impl<S> FromRequestParts<S> for VerifiedOperator
where
    Option<OperatorAccess>: FromRef<S>,
    AccountService: FromRef<S>,
    TrustedProxies: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Response> {
        let access = Option::<OperatorAccess>::from_ref(state);
        if let Some(access) = access.filter(|access| bearer(parts).is_some_and(|token| access.token.matches(token))) {
            return Ok(Self(access));
        }
        if bearer(parts).is_some() {
            let Ok(Address(address)) = Address::from_request_parts(parts, state).await;
            let Ok(UserAgent(user_agent)) = UserAgent::from_request_parts(parts, state).await;
            let origin = RequestOrigin { address: Some(address), user_agent };
            let recorded = AccountService::from_ref(state).audit_wrong_operator_token(&origin, address).await;
            if let Err(error) = recorded {
                tracing::error!(%error, "could not record a wrong token of the operator in the audit log");
            }
        }
        let headers = [(header::WWW_AUTHENTICATE, "Bearer"), (header::CACHE_CONTROL, "no-store")];
        let message = "the bearer token of CHAT_ADMIN_TOKEN is required";
        let body = json!({ "error": { "code": "unauthorized", "message": message } });
        Err((StatusCode::UNAUTHORIZED, headers, Json(body)).into_response())
    }
}

/// Returns the metrics of this node.
async fn get_metrics(
    VerifiedOperator(access): VerifiedOperator,
    State(storage): State<Storage>,
    State(turns): State<TurnService>,
    State(models): State<Arc<ModelService>>,
    State(connections): State<ConnectionService>,
    State(streams): State<StreamLimiter>,
) -> Response {
    let started = Instant::now();
    let is_up = matches!(timeout(MAX_PING_TIME, storage.ping()).await, Ok(Ok(())));
    let (database_in_use, database_idle) = storage.count_connections();
    let by_status = connections.count_by_status().into_iter();
    metrics::record_current(&CurrentFigures {
        turns: turns.count_running(),
        streams: streams.in_use(),
        journal_bytes: turns.journal().buffered_bytes(),
        built_in_queue: models.built_in_queue(),
        connections: by_status.map(|(status, number)| (status.as_str(), number)).collect(),
        database_in_use,
        database_idle,
        database_ping: is_up.then(|| started.elapsed()),
    });
    ([(header::CONTENT_TYPE, METRICS_TYPE)], access.recorder.render()).into_response()
}
