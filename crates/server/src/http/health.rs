//! For whoever watches over the process.

use axum::extract::State;
use axum::http::StatusCode;

use crate::app::App;

/// The process answers.
pub async fn live() -> &'static str {
    "ok"
}

/// The process can do its work: the database answers.
pub async fn ready(State(app): State<App>) -> (StatusCode, &'static str) {
    match app.store.ping().await {
        Ok(()) => (StatusCode::OK, "ok"),
        Err(error) => {
            tracing::warn!(%error, "not ready");
            (StatusCode::SERVICE_UNAVAILABLE, "the database does not answer")
        }
    }
}
