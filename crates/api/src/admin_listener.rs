//! The operator's listener: metrics and health probes, at an address and with a token of their own.

use std::time::Duration;

use accounts::admin::AdminKey;
use agent::turns::TurnService;
use axum::Router;
use axum::extract::{FromRef, FromRequestParts, State};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use connections::ConnectionService;
use http_server::extract::bearer;
use http_server::route::Access::{Admin, Anyone};
use http_server::route::{Section, get};
use platform::config::AdminListener;
use platform::metrics::{self, CurrentFigures, MetricsRecorder};
use storage::Storage;
use tokio::time::{Instant, timeout};
use tower_http::catch_panic::CatchPanicLayer;

use crate::limiters::StreamLimiter;
use crate::{AppState, error, health};

/// Format of Prometheus's text.
const METRICS_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";
/// Longest wait for the database. Prometheus gives up after ten seconds, and then has no metrics at all.
const MAX_PING_TIME: Duration = Duration::from_secs(3);

/// Access to the operator's listener: its token, and the recorder of the metrics.
#[derive(Debug, Clone)]
pub struct OperatorAccess {
    token: AdminKey,
    recorder: MetricsRecorder,
}

impl OperatorAccess {
    /// Creates the access from the settings of the listener and the recorder of the process's metrics.
    pub fn new(settings: &AdminListener, recorder: MetricsRecorder) -> Self {
        Self { token: AdminKey::new(&settings.token), recorder }
    }
}

/// Builds the router of the listener.
pub fn build_router(app: &AppState) -> Router {
    section().add_to(Router::new()).layer(CatchPanicLayer::custom(error::after_panic)).with_state(app.clone())
}

/// Returns the routes of the listener. They are not part of the API, and so of no OpenAPI document.
fn section() -> Section<AppState> {
    Section::new(
        "",
        [
            get("/metrics", Admin, get_metrics),
            get("/health/live", Anyone, health::check_liveness),
            get("/health/ready", Anyone, health::check_readiness),
        ],
        |routes| routes.fallback(error::no_such_route).method_not_allowed_fallback(error::method_not_allowed),
    )
}

/// The operator, with `CHAT_ADMIN_TOKEN` as bearer.
struct VerifiedOperator(OperatorAccess);

impl<S> FromRequestParts<S> for VerifiedOperator
where
    Option<OperatorAccess>: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Response> {
        let access = Option::<OperatorAccess>::from_ref(state);
        let verified = access.filter(|access| bearer(parts).is_some_and(|token| access.token.matches(token)));
        verified.map(Self).ok_or_else(|| {
            let challenge = [(header::WWW_AUTHENTICATE, "Bearer")];
            (StatusCode::UNAUTHORIZED, challenge, "the bearer token of CHAT_ADMIN_TOKEN is required\n").into_response()
        })
    }
}

/// Returns the metrics of this node.
async fn get_metrics(
    VerifiedOperator(access): VerifiedOperator,
    State(storage): State<Storage>,
    State(turns): State<TurnService>,
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
        connections: by_status.map(|(status, number)| (status.as_str(), number)).collect(),
        database_in_use,
        database_idle,
        database_ping: is_up.then(|| started.elapsed()),
    });
    ([(header::CONTENT_TYPE, METRICS_TYPE)], access.recorder.render()).into_response()
}
