//! Health probes for supervisors and load balancers.

use agent::turns::TurnService;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use http_server::error::OUTAGE_RETRY;
use storage::Storage;

/// Reports that the process is alive. It checks nothing else: a restart would not repair an unreachable database.
pub async fn check_liveness() -> &'static str {
    "ok"
}

/// Reports whether the process can serve: the database responds, and the event journal of turns is being written.
/// Responds 503 otherwise.
pub async fn check_readiness(State(storage): State<Storage>, State(turns): State<TurnService>) -> Response {
    let reason = match storage.ping().await {
        // A turn whose events cannot be stored would be lost with this process, so a load balancer has to send new ones
        // elsewhere.
        Ok(()) if turns.journal().is_stalled() => "events cannot be stored",
        Ok(()) => return "ok".into_response(),
        Err(error) => {
            tracing::warn!(%error, "not ready");
            "the database does not answer"
        }
    };
    (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, OUTAGE_RETRY)], reason).into_response()
}
