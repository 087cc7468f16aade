//! The table of contents of the product: which path is answered by what.

pub mod assets;
pub mod auth;
pub mod connections;
pub mod error;
pub mod events;
pub mod extract;
pub mod functions;
pub mod google_drive;
pub mod headers;
pub mod health;
pub mod mcp_servers;
pub mod models;
pub mod rest;
mod serve;
pub mod sessions;
pub mod sse;
pub mod tool_runs;

use std::time::Duration;

use axum::Router;
use axum::routing::{get, post};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::timeout::RequestBodyTimeoutLayer;

use crate::app::App;

pub use serve::{listen, serve};

/// The largest request body, in bytes. A message has at most 200,000 characters, tool arguments come to less. Whoever
/// reads a body holds to it and says so in the shape of its own protocol.
const BODY_LIMIT: usize = 2 * 1024 * 1024;

/// How long the next piece of a body may take.
const BODY_SILENCE: Duration = Duration::from_secs(15);

/// Every route. Handlers extract, authorise, call and answer; what they call stands in `auth`, `runs` and `tools`.
pub fn routes(app: &App) -> Router {
    let api = Router::new()
        .route("/sessions/{id}/stream", get(sessions::stream))
        .route("/sessions/{id}/stop", post(sessions::stop))
        .route("/connections", get(connections::list))
        .route("/connections/{id}/refresh", post(connections::refresh))
        .route("/tools/run", post(tool_runs::run))
        .route("/models", get(models::list))
        .route("/events", get(events::follow))
        .route("/google-drive", get(google_drive::status).delete(google_drive::unlink))
        .route("/google-drive/link", post(google_drive::link))
        .route("/google-drive/callback", get(google_drive::callback))
        .fallback(error::no_such_route);

    let routes = Router::new()
        .nest("/auth/v1", auth::routes())
        .route("/.well-known/jwks.json", get(auth::jwks))
        .nest("/rest/v1", rest::routes())
        .route("/functions/v1/ai-chat", post(functions::ai_chat))
        .route("/functions/v1/mcp-proxy", post(functions::mcp_proxy))
        .nest("/api", api)
        .nest("/mcp", mcp_servers::routes(app))
        .route("/health/live", get(health::live))
        .route("/health/ready", get(health::ready))
        .fallback(assets::serve)
        .layer(RequestBodyTimeoutLayer::new(BODY_SILENCE))
        .layer(CatchPanicLayer::custom(error::after_panic))
        .with_state(app.clone());
    headers::security(routes)
}
