//! For whoever watches over the process.

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::error::OUTAGE_RETRY;
use crate::app::App;

/// The process answers.
pub async fn live() -> &'static str {
    "ok"
}

/// The process can do its work: the database answers, and what runs say reaches it.
pub async fn ready(State(app): State<App>) -> Response {
    let reason = match app.store.ping().await {
        Ok(()) if app.runs.journal().is_stalled() => "what is said cannot be written down",
        Ok(()) => return "ok".into_response(),
        Err(error) => {
            tracing::warn!(%error, "not ready");
            "the database does not answer"
        }
    };
    (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, OUTAGE_RETRY)], reason).into_response()
}
