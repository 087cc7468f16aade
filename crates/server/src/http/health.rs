//! For whoever watches over the process.

use axum::extract::State;
use axum::http::StatusCode;

use crate::app::App;

/// The process answers.
pub async fn live() -> &'static str {
    "ok"
}

/// The process can do its work: the database answers, and what runs say reaches it.
pub async fn ready(State(app): State<App>) -> (StatusCode, &'static str) {
    match app.store.ping().await {
        Ok(()) if app.runs.journal().is_stalled() => {
            (StatusCode::SERVICE_UNAVAILABLE, "what is said cannot be written down")
        }
        Ok(()) => (StatusCode::OK, "ok"),
        Err(error) => {
            tracing::warn!(%error, "not ready");
            (StatusCode::SERVICE_UNAVAILABLE, "the database does not answer")
        }
    }
}
