//! The HTTP API: the route table and the router that is built from it.

pub mod account;
pub mod api_keys;
pub mod apps;
pub mod assets;
pub mod auth;
pub mod body;
mod browser_cookie;
mod chat_lookup;
pub mod connections;
mod cors;
pub mod description;
pub mod error;
pub mod events;
pub mod export;
pub mod extract;
pub mod files;
pub mod functions;
pub mod google_drive;
pub mod headers;
pub mod health;
pub mod history;
mod host_check;
pub mod import;
mod intake;
pub mod limiters;
pub mod mcp_servers;
pub mod model_providers;
mod model_settings;
mod models;
pub mod offers;
mod openai_api;
pub mod queue;
pub mod rest;
pub mod route;
mod serve;
pub mod sessions;
pub mod shares;
pub mod sign_in;
pub mod sse;
pub mod state;
pub mod temporary;
pub mod tool_permissions;
pub mod tool_runs;
pub mod usage;

use axum::Router;
use axum::middleware::from_fn_with_state;
use tower_http::catch_panic::CatchPanicLayer;

use host_check::AllowedHosts;
use intake::Intake;
use route::Access::{Anyone, Owner, SignedIn};
use route::{Entry, Section, delete, get, patch, post, put};

pub use serve::{listen, serve};
pub use state::{AppState, TrustedProxies};

/// Maximum size of a request body, in bytes. A message has at most 200,000 characters, and tool arguments are
/// smaller. Each extractor checks the limit itself, because each protocol reports a body that is too large in its own
/// shape.
const BODY_LIMIT: usize = 2 * 1024 * 1024;

/// Returns every route of the server with its [`Access`](route::Access). Handlers extract, authorise, call a service
/// and respond; the services are in [`accounts`], [`agent::turns`] and [`agent::tool_selection`].
fn table() -> Vec<Section> {
    vec![
        Section::new(
            "",
            [
                get("/health/live", Anyone, health::live),
                get("/health/ready", Anyone, health::ready),
                get("/.well-known/jwks.json", Anyone, auth::jwks),
                get("/oauth/client.json", Anyone, sign_in::metadata),
                // A sandboxed frame cannot send a token. The address carries a sealed grant, and the page of an app
                // holds no secret.
                get("/sandbox/{frame}", Anyone, apps::sandbox),
            ],
            |routes| routes.method_not_allowed_fallback(error::method_not_allowed),
        ),
        auth::section(),
        rest::section(),
        functions::section(),
        openai_api::section(),
        files::section(),
        Section::new(
            "/api",
            [
                get("/openapi.json", Anyone, description::show),
                get("/sessions/{id}/stream", Owner, sessions::stream),
                post("/sessions/{id}/stop", Owner, sessions::stop),
                get("/sessions/{id}/branches", Owner, sessions::branches),
                post("/sessions/{id}/branches", Owner, sessions::switch_branch),
                get("/sessions/{id}/queue", Owner, queue::list),
                post("/sessions/{id}/queue", Owner, queue::add),
                patch("/sessions/{id}/queue/{message}", Owner, queue::change),
                delete("/sessions/{id}/queue/{message}", Owner, queue::remove),
                post("/sessions/{id}/queue/{message}/send", Owner, queue::send_now),
                post("/sessions/{id}/approvals/{approval}", Owner, sessions::decide),
                post("/sessions/{id}/calls/{call}/cancel", Owner, sessions::cancel_call),
                get("/sessions/{id}/messages/{message}/usage", Owner, usage::of_answer),
                post("/temporary-chats", SignedIn, temporary::open),
                get("/temporary-chats/{id}", Owner, temporary::look),
                delete("/temporary-chats/{id}", Owner, temporary::close),
                post("/sessions/{id}/restore", Owner, history::restore),
                get("/sessions/marks", SignedIn, history::marks),
                put("/sessions/{id}/marks", Owner, history::mark),
                get("/sessions/{id}/export", Owner, export::chat),
                post("/sessions/{id}/shares", Owner, shares::create),
                get("/shares", SignedIn, shares::list),
                delete("/shares/{id}", Owner, shares::end),
                delete("/shares", SignedIn, shares::end_all),
                // Shared chats are readable by anyone who has the link; the token in the path is the only credential.
                get("/shared/{token}", Anyone, shares::show),
                get("/shared/{token}/files/{file}", Anyone, shares::show_file),
                get("/search", SignedIn, history::search),
                post("/sessions/{id}/elicitations/{elicitation}", Owner, sessions::answer),
                get("/connections", SignedIn, connections::list),
                get("/connections/{id}", Owner, connections::show),
                patch("/connections/{id}", Owner, connections::change),
                post("/connections/{id}/refresh", Owner, connections::refresh),
                post("/connections/{id}/tools", Owner, connections::list_again),
                get("/connections/{id}/prompts", Owner, offers::prompts),
                get("/connections/{id}/resources", Owner, offers::resources),
                post("/connections/{id}/resources/read", Owner, offers::read),
                post("/connections/{id}/resources/watch", Owner, offers::watch),
                delete("/connections/{id}/resources/watch", Owner, offers::unwatch),
                post("/connections/{id}/completion", Owner, offers::complete),
                post("/connections/{id}/attachments", Owner, offers::attach),
                get("/connections/{id}/icon", Owner, offers::icon),
                get("/attachments/{id}", Owner, offers::attachment),
                post("/connections/{id}/sign-in", Owner, sign_in::begin),
                put("/connections/{id}/sign-in", Owner, sign_in::enter_client),
                delete("/connections/{id}/sign-in", Owner, sign_in::end),
                // The authorization server redirects the browser here without a token; a cookie identifies the user
                // who began.
                get("/connections/callback", Anyone, sign_in::callback),
                post("/tools/run", SignedIn, tool_runs::run),
                post("/tools/run/elicitations/{elicitation}", Owner, tool_runs::answer),
                get("/tools/permissions", SignedIn, tool_permissions::list),
                put("/tools/permissions", Owner, tool_permissions::change),
                get("/tools/audit", SignedIn, tool_permissions::audit),
                post("/apps/open", SignedIn, apps::open),
                post("/apps/call", SignedIn, apps::call),
                post("/apps/read", SignedIn, apps::read),
                get("/models", SignedIn, models::list),
                put("/models/favourites", SignedIn, models::mark),
                get("/sessions/{id}/model", Owner, models::of_chat),
                put("/sessions/{id}/model", Owner, models::choose),
                get("/model-providers", SignedIn, model_providers::list),
                post("/model-providers", SignedIn, model_providers::create),
                patch("/model-providers/{id}", Owner, model_providers::change),
                delete("/model-providers/{id}", Owner, model_providers::remove),
                post("/model-providers/{id}/test", Owner, model_providers::test),
                get("/sessions/{id}/settings", Owner, model_settings::of_chat),
                put("/sessions/{id}/settings", Owner, model_settings::set),
                get("/model-defaults", SignedIn, model_settings::defaults),
                put("/model-defaults", SignedIn, model_settings::set_defaults),
                get("/usage", SignedIn, usage::by_day),
                get("/keys", SignedIn, api_keys::list),
                post("/keys", SignedIn, api_keys::create),
                delete("/keys/{id}", Owner, api_keys::end),
                delete("/keys", SignedIn, api_keys::end_all),
                get("/events", SignedIn, events::follow),
                get("/google-drive", SignedIn, google_drive::status),
                delete("/google-drive", SignedIn, google_drive::unlink),
                get("/account/devices", SignedIn, account::devices),
                delete("/account/devices/{id}", Owner, account::end_device),
                get("/account/reauthentication", SignedIn, account::proof_methods),
                post("/account/reauthentication", SignedIn, account::prove_again),
                post("/account/delete", SignedIn, account::delete),
                get("/account/export", SignedIn, export::everything),
                post("/account/import", SignedIn, import::import),
                post("/google-drive/link", SignedIn, google_drive::link),
                // Google redirects the browser here without a token; a cookie identifies the user who began.
                get("/google-drive/callback", Anyone, google_drive::callback),
            ],
            |routes| routes.fallback(error::no_such_route).method_not_allowed_fallback(error::method_not_allowed),
        ),
        mcp_servers::section(),
    ]
}

/// Returns method, path and [`Access`](route::Access) of every route, for tests and for the OpenAPI document.
pub fn entries() -> Vec<Entry> {
    table().iter().flat_map(Section::entries).collect()
}

/// Builds the router of the whole server. Paths outside every section are served by the web app.
pub fn routes(app: &AppState) -> Router {
    let routes = table().into_iter().fold(Router::new(), |routes, section| section.add_to(routes));
    // Layers run from the last to the first: headers, host check, CORS, panics, body limits. A rejected host must not
    // reach
    // CORS, and a panic response needs the security headers too.
    let routes = routes
        .fallback(assets::serve)
        .layer(from_fn_with_state(
            Intake::new(app.config.limits.bodies_bytes, app.trusted_proxies.clone()),
            intake::bound,
        ))
        .layer(CatchPanicLayer::custom(error::after_panic))
        .with_state(app.clone());
    let routes = cors::allow(routes, &app.config.cors_origins);
    let hosts = AllowedHosts::new(&app.site_url.0, &app.config.allowed_hosts);
    headers::security(host_check::check(routes, hosts), app.site_url.is_https())
}
