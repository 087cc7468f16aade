//! The HTTP API: the route table and the router that is built from it.

pub mod account;
pub mod api_keys;
pub mod apps;
pub mod assets;
pub mod auth;
pub mod body;
mod body_limit;
mod browser_cookie;
mod chat_lookup;
pub mod chats;
pub mod connections;
mod cors;
pub mod error;
pub mod events;
pub mod export;
pub mod extract;
pub mod files;
pub mod google_drive;
pub mod headers;
pub mod health;
mod host_check;
pub mod import;
pub mod limiters;
pub mod manual_tool_calls;
pub mod mcp_servers;
pub mod message_queue;
pub mod model_providers;
mod model_settings;
mod models;
mod openai_api;
pub mod openapi;
pub mod prompts_and_resources;
pub mod rest;
pub mod route;
mod serve;
pub mod shares;
pub mod sign_in;
pub mod sse;
pub mod state;
pub mod supabase_functions;
pub mod temporary_chats;
pub mod tool_permissions;
pub mod turns;
pub mod usage;

use axum::Router;
use axum::middleware::from_fn_with_state;
use tower_http::catch_panic::CatchPanicLayer;

use body_limit::BodyLimiter;
use host_check::AllowedHosts;
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
fn route_table() -> Vec<Section> {
    vec![
        Section::new(
            "",
            [
                get("/health/live", Anyone, health::check_liveness),
                get("/health/ready", Anyone, health::check_readiness),
                get("/.well-known/jwks.json", Anyone, auth::get_jwks),
                get("/oauth/client.json", Anyone, sign_in::get_client_metadata),
                // A sandboxed frame cannot send a token. The address carries a sealed grant, and the page of an app
                // holds no secret.
                get("/sandbox/{frame}", Anyone, apps::serve_sandbox),
            ],
            |routes| routes.method_not_allowed_fallback(error::method_not_allowed),
        ),
        auth::section(),
        rest::section(),
        supabase_functions::section(),
        openai_api::section(),
        files::section(),
        Section::new(
            "/api",
            [
                get("/openapi.json", Anyone, openapi::get_document),
                get("/sessions/{id}/stream", Owner, turns::stream_turn),
                post("/sessions/{id}/stop", Owner, turns::stop_turn),
                get("/sessions/{id}/branches", Owner, turns::list_branches),
                post("/sessions/{id}/branches", Owner, turns::switch_branch),
                get("/sessions/{id}/queue", Owner, message_queue::list_queued),
                post("/sessions/{id}/queue", Owner, message_queue::queue_message),
                patch("/sessions/{id}/queue/{message}", Owner, message_queue::update_queued),
                delete("/sessions/{id}/queue/{message}", Owner, message_queue::delete_queued),
                post("/sessions/{id}/queue/{message}/send", Owner, message_queue::send_queued_now),
                post("/sessions/{id}/approvals/{approval}", Owner, turns::decide_approval),
                post("/sessions/{id}/calls/{call}/cancel", Owner, turns::cancel_tool_call),
                get("/sessions/{id}/messages/{message}/usage", Owner, usage::get_answer_usage),
                post("/temporary-chats", SignedIn, temporary_chats::open_temporary_chat),
                get("/temporary-chats/{id}", Owner, temporary_chats::check_temporary_chat),
                delete("/temporary-chats/{id}", Owner, temporary_chats::close_temporary_chat),
                post("/sessions/{id}/restore", Owner, chats::restore_chat),
                get("/sessions/marks", SignedIn, chats::list_marks),
                put("/sessions/{id}/marks", Owner, chats::set_marks),
                get("/sessions/{id}/export", Owner, export::export_chat),
                post("/sessions/{id}/shares", Owner, shares::create_share),
                get("/shares", SignedIn, shares::list_shares),
                delete("/shares/{id}", Owner, shares::delete_share),
                delete("/shares", SignedIn, shares::delete_all_shares),
                // Shared chats are readable by anyone who has the link; the token in the path is the only credential.
                get("/shared/{token}", Anyone, shares::get_shared_chat),
                get("/shared/{token}/files/{file}", Anyone, shares::get_shared_file),
                get("/search", SignedIn, chats::search_chats),
                post("/sessions/{id}/elicitations/{elicitation}", Owner, turns::answer_elicitation),
                get("/connections", SignedIn, connections::list_connections),
                get("/connections/{id}", Owner, connections::get_connection),
                patch("/connections/{id}", Owner, connections::update_connection),
                post("/connections/{id}/refresh", Owner, connections::reconnect),
                post("/connections/{id}/tools", Owner, connections::relist_tools),
                get("/connections/{id}/prompts", Owner, prompts_and_resources::list_prompts),
                get("/connections/{id}/resources", Owner, prompts_and_resources::list_resources),
                post("/connections/{id}/resources/read", Owner, prompts_and_resources::read_resource),
                post("/connections/{id}/resources/watch", Owner, prompts_and_resources::subscribe_resource),
                delete("/connections/{id}/resources/watch", Owner, prompts_and_resources::unsubscribe_resource),
                post("/connections/{id}/completion", Owner, prompts_and_resources::complete_argument),
                post("/connections/{id}/attachments", Owner, prompts_and_resources::create_attachment),
                get("/connections/{id}/icon", Owner, prompts_and_resources::get_icon),
                get("/attachments/{id}", Owner, prompts_and_resources::get_attachment),
                post("/connections/{id}/sign-in", Owner, sign_in::start_sign_in),
                put("/connections/{id}/sign-in", Owner, sign_in::set_client),
                delete("/connections/{id}/sign-in", Owner, sign_in::sign_out),
                // The authorization server redirects the browser here without a token; a cookie identifies the user
                // who began.
                get("/connections/callback", Anyone, sign_in::complete_sign_in),
                post("/tools/run", SignedIn, manual_tool_calls::call_tool),
                post("/tools/run/elicitations/{elicitation}", Owner, manual_tool_calls::answer_elicitation),
                get("/tools/permissions", SignedIn, tool_permissions::list_permissions),
                put("/tools/permissions", Owner, tool_permissions::set_permission),
                get("/tools/audit", SignedIn, tool_permissions::list_audit),
                post("/apps/open", SignedIn, apps::open_app),
                post("/apps/call", SignedIn, apps::call_tool),
                post("/apps/read", SignedIn, apps::read_resource),
                get("/models", SignedIn, models::list_models),
                put("/models/favourites", SignedIn, models::set_favourite),
                get("/sessions/{id}/model", Owner, models::get_chat_model),
                put("/sessions/{id}/model", Owner, models::set_chat_model),
                get("/model-providers", SignedIn, model_providers::list_providers),
                post("/model-providers", SignedIn, model_providers::create_provider),
                patch("/model-providers/{id}", Owner, model_providers::update_provider),
                delete("/model-providers/{id}", Owner, model_providers::delete_provider),
                post("/model-providers/{id}/test", Owner, model_providers::test_provider),
                get("/sessions/{id}/settings", Owner, model_settings::get_chat_settings),
                put("/sessions/{id}/settings", Owner, model_settings::set_chat_settings),
                get("/model-defaults", SignedIn, model_settings::get_defaults),
                put("/model-defaults", SignedIn, model_settings::set_defaults),
                get("/usage", SignedIn, usage::get_usage_by_day),
                get("/keys", SignedIn, api_keys::list_keys),
                post("/keys", SignedIn, api_keys::create_key),
                delete("/keys/{id}", Owner, api_keys::delete_key),
                delete("/keys", SignedIn, api_keys::delete_all_keys),
                get("/events", SignedIn, events::stream_events),
                get("/google-drive", SignedIn, google_drive::get_status),
                delete("/google-drive", SignedIn, google_drive::unlink_drive),
                get("/account/devices", SignedIn, account::list_devices),
                delete("/account/devices/{id}", Owner, account::sign_out_device),
                get("/account/reauthentication", SignedIn, account::list_proof_methods),
                post("/account/reauthentication", SignedIn, account::reauthenticate),
                post("/account/delete", SignedIn, account::delete_account),
                get("/account/export", SignedIn, export::export_account),
                post("/account/import", SignedIn, import::import_chats),
                post("/google-drive/link", SignedIn, google_drive::start_link),
                // Google redirects the browser here without a token; a cookie identifies the user who began.
                get("/google-drive/callback", Anyone, google_drive::complete_link),
            ],
            |routes| routes.fallback(error::no_such_route).method_not_allowed_fallback(error::method_not_allowed),
        ),
        mcp_servers::section(),
    ]
}

/// Returns method, path and [`Access`](route::Access) of every route, for tests and for the OpenAPI document.
pub fn entries() -> Vec<Entry> {
    route_table().iter().flat_map(Section::entries).collect()
}

/// Builds the router of the whole server. Paths outside every section are served by the web app.
fn build_router(app: &AppState) -> Router {
    let routes = route_table().into_iter().fold(Router::new(), |routes, section| section.add_to(routes));
    // Layers run from the last to the first: headers, host check, CORS, panics, body limits. A rejected host must not
    // reach CORS, and a panic response needs the security headers too.
    let routes = routes
        .fallback(assets::serve)
        .layer(from_fn_with_state(
            BodyLimiter::new(app.config.limits.bodies_bytes, app.trusted_proxies.clone()),
            body_limit::limit_body,
        ))
        .layer(CatchPanicLayer::custom(error::after_panic))
        .with_state(app.clone());
    let routes = cors::allow(routes, &app.config.cors_origins);
    let hosts = AllowedHosts::new(&app.site_url.0, &app.config.allowed_hosts);
    headers::security(host_check::check(routes, hosts), app.site_url.is_https())
}
