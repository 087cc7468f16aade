//! The HTTP API: the route table and the router that is built from it.

pub mod account;
mod account_events;
pub mod admin_listener;
pub mod api_keys;
pub mod apps;
pub mod assets;
pub mod auth;
mod browser_cookie;
mod chat_lookup;
pub mod chats;
pub mod connections;
pub mod events;
pub mod export;
pub mod files;
pub mod google_drive;
pub mod health;
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
pub mod operator_api;
pub mod prompts_and_resources;
mod push;
pub mod registry;
pub mod rest;
pub mod shared_servers;
pub mod shares;
pub mod sign_in;
pub mod signed_in;
pub mod state;
pub mod supabase_functions;
pub mod temporary_chats;
pub mod tool_permissions;
pub mod transcriptions;
pub mod turns;
pub mod usage;

use std::future::Future;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use http_server::body_limit::{BodyLimiter, limit_body};
use http_server::host_check::{self, AllowedHosts};
use http_server::route::Access::{Anyone, Owner, SignedIn};
use http_server::route::{Entry, Section, get};
use http_server::serve::ConnectionAcceptor;
use http_server::{cors, error, headers, request_metrics, request_spans, routes};
use platform::Limit;
use tokio::net::TcpListener;
use tower_http::catch_panic::CatchPanicLayer;

pub use state::AppState;

/// Connections to the operator's listener: some collectors of metrics, and a browser.
const ADMIN_CONNECTIONS: Limit = Limit { per_user: 32, total: 64 };

/// Serves connections until `stop` completes. Then streams are asked to end, and open requests have four seconds to
/// finish before their connections are closed.
pub async fn serve(app: AppState, listener: TcpListener, stop: impl Future<Output = ()>) {
    let acceptor = create_acceptor(&app, app.config.limits.sockets);
    let connections = acceptor.accept(listener, build_router(&app), stop).await;
    app.tasks.shutdown_token().cancel();
    // Streams end by the shutdown token; only then can the graceful shutdown complete.
    connections.drain().await;
}

/// Serves the connections of the operator's listener until shutdown.
pub async fn serve_admin(app: AppState, listener: TcpListener) {
    let stop = app.tasks.shutdown_token().clone().cancelled_owned();
    let acceptor = create_acceptor(&app, ADMIN_CONNECTIONS);
    acceptor.accept(listener, admin_listener::build_router(&app), stop).await.drain().await;
}

fn create_acceptor(app: &AppState, limit: Limit) -> ConnectionAcceptor {
    ConnectionAcceptor { tasks: app.tasks.clone(), trusted_proxies: app.trusted_proxies.clone(), limit }
}

/// Returns every route of the server with its [`Access`](http_server::route::Access). Handlers extract, authorise, call a service
/// and respond; the services are in [`accounts`], [`agent::turns`] and [`agent::tool_selection`].
fn route_table() -> Vec<Section<AppState>> {
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
                // The frame of previews holds nothing; the web app hands the page to it.
                get("/sandbox/preview", Anyone, apps::serve_preview),
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
            routes! {
                /// Returns this document.
                get("/openapi.json", Anyone, openapi::get_document),
                /// Streams the running turn of one of the caller's chats, from its beginning or from after the last
                /// received event. Responds 204 if no turn runs, or another one than requested.
                get("/sessions/{id}/stream", Owner, turns::stream_turn),
                /// Stops the running turn of one of the caller's chats and keeps its partial answer.
                post("/sessions/{id}/stop", Owner, turns::stop_turn),
                /// Lists the messages of the active branch that have alternatives, in order.
                get("/sessions/{id}/branches", Owner, turns::list_branches),
                /// Switches a chat to the branch that contains a message. Safe to repeat.
                post("/sessions/{id}/branches", Owner, turns::switch_branch),
                /// Lists the queued messages of a chat, the next one first.
                get("/sessions/{id}/queue", Owner, message_queue::list_queued),
                /// Queues a message until the running turn ends; sends it at once if no turn is running.
                post("/sessions/{id}/queue", Owner, message_queue::queue_message),
                /// Changes the text of a queued message.
                patch("/sessions/{id}/queue/{message}", Owner, message_queue::update_queued),
                /// Removes a message from the queue.
                delete("/sessions/{id}/queue/{message}", Owner, message_queue::delete_queued),
                /// Stops the running turn and sends a queued message before all others.
                post("/sessions/{id}/queue/{message}/send", Owner, message_queue::send_queued_now),
                /// Decides a pending approval of a tool call. The first decision applies; later requests receive it.
                post("/sessions/{id}/approvals/{approval}", Owner, turns::decide_approval),
                /// Cancels one tool call of a running turn; the turn continues without its result.
                post("/sessions/{id}/calls/{call}/cancel", Owner, turns::cancel_tool_call),
                /// Returns the usage of one answer in one of the caller's chats, and of the chat so far.
                get("/sessions/{id}/messages/{message}/usage", Owner, usage::get_answer_usage),
                /// Opens a temporary chat: it is never stored, and no list, search or export contains it.
                post("/temporary-chats", SignedIn, temporary_chats::open_temporary_chat),
                /// Responds 204 if a temporary chat of the caller still exists.
                get("/temporary-chats/{id}", Owner, temporary_chats::check_temporary_chat),
                /// Deletes a temporary chat with all its messages.
                delete("/temporary-chats/{id}", Owner, temporary_chats::close_temporary_chat),
                /// Restores a chat of the caller that was deleted less than ten minutes ago. Safe to repeat.
                post("/sessions/{id}/restore", Owner, chats::restore_chat),
                /// Lists the caller's pinned and archived chats.
                get("/sessions/marks", SignedIn, chats::list_marks),
                /// Pins, unpins, archives or unarchives one of the caller's chats. Omitted fields stay unchanged.
                put("/sessions/{id}/marks", Owner, chats::set_marks),
                /// Returns one of the caller's chats as a file.
                get("/sessions/{id}/export", Owner, export::export_chat),
                /// Shares one of the caller's chats as it is now.
                post("/sessions/{id}/shares", Owner, shares::create_share),
                /// Lists the caller's shared links, newest first.
                get("/shares", SignedIn, shares::list_shares),
                /// Deletes one of the caller's shares. Its link shows nothing any more.
                delete("/shares/{id}", Owner, shares::delete_share),
                /// Deletes all shares of the caller. Their links show nothing any more.
                delete("/shares", SignedIn, shares::delete_all_shares),
                // Shared chats are readable by anyone who has the link; the token in the path is the only credential.
                /// Returns a shared chat to anyone with the link.
                get("/shared/{token}", Anyone, shares::get_shared_chat),
                /// Returns a file of a shared chat to anyone with the link.
                get("/shared/{token}/files/{file}", Anyone, shares::get_shared_file),
                /// Searches the titles and messages of the caller's chats.
                get("/search", SignedIn, chats::search_chats),
                /// Responds to a pending elicitation. The first response applies; later requests receive it.
                post("/sessions/{id}/elicitations/{elicitation}", Owner, turns::answer_elicitation),
                /// Lists the caller's connections and their status.
                get("/connections", SignedIn, connections::list_connections),
                /// Returns one of the caller's connections with all its details.
                get("/connections/{id}", Owner, connections::get_connection),
                /// Changes the name, the headers or the tools of a connection. Omitted fields stay unchanged.
                patch("/connections/{id}", Owner, connections::update_connection),
                /// Reconnects to one server and waits for the result.
                post("/connections/{id}/refresh", Owner, connections::reconnect),
                /// Lists the tools of one server again over the open connection, and waits for the result.
                post("/connections/{id}/tools", Owner, connections::relist_tools),
                /// Lists the prompts that the server of a connection offers.
                get("/connections/{id}/prompts", Owner, prompts_and_resources::list_prompts),
                /// Lists the resources that the server of a connection offers, and the templates of more.
                get("/connections/{id}/resources", Owner, prompts_and_resources::list_resources),
                /// Reads a resource of the server of a connection.
                post("/connections/{id}/resources/read", Owner, prompts_and_resources::read_resource),
                /// Subscribes the caller's pages to changes of a resource for fifteen minutes.
                post("/connections/{id}/resources/watch", Owner, prompts_and_resources::subscribe_resource),
                /// Ends the subscription to a resource.
                delete("/connections/{id}/resources/watch", Owner, prompts_and_resources::unsubscribe_resource),
                /// Returns the server's suggestions for an argument of a prompt or a variable of a template.
                post("/connections/{id}/completion", Owner, prompts_and_resources::complete_argument),
                /// Reads a resource or fills in a prompt, and keeps it for the next message.
                post("/connections/{id}/attachments", Owner, prompts_and_resources::create_attachment),
                /// Returns an icon that the server of a connection declares for itself, a tool, a prompt or a resource.
                get("/connections/{id}/icon", Owner, prompts_and_resources::get_icon),
                /// Returns one of the caller's attachments that has no message yet.
                get("/attachments/{id}", Owner, prompts_and_resources::get_attachment),
                /// Begins to sign the caller in to the server of a connection.
                post("/connections/{id}/sign-in", Owner, sign_in::start_sign_in),
                /// Stores the OAuth client that the caller registered with the authorization server. The secret can't
                /// be read back.
                put("/connections/{id}/sign-in", Owner, sign_in::set_client),
                /// Signs the caller out of the server of a connection, and revokes its tokens.
                delete("/connections/{id}/sign-in", Owner, sign_in::sign_out),
                // The authorization server redirects the browser here without a token; a cookie identifies the user
                // who began.
                /// Receives the browser from the authorization server of an MCP server, and redirects it to the web
                /// app.
                get("/connections/callback", Anyone, sign_in::complete_sign_in),
                /// Calls a tool of one of the caller's connections.
                post("/tools/run", SignedIn, manual_tool_calls::call_tool),
                /// Responds to an elicitation of a manual tool call.
                post("/tools/run/elicitations/{elicitation}", Owner, manual_tool_calls::answer_elicitation),
                /// Lists the caller's permission for each known tool of their connections.
                get("/tools/permissions", SignedIn, tool_permissions::list_permissions),
                /// Changes the caller's permission for one tool.
                put("/tools/permissions", Owner, tool_permissions::set_permission),
                /// Changes the caller's permission for a group of tools of a connection.
                put("/connections/{id}/permissions", Owner, tool_permissions::set_group_permission),
                /// Lists the caller's tool calls, newest first.
                get("/tools/audit", SignedIn, tool_permissions::list_audit),
                /// Returns the page of a tool of one of the caller's connections (MCP Apps).
                post("/apps/open", SignedIn, apps::open_app),
                /// Calls a tool for an MCP app of the same server, or returns the approval that the user has to give
                /// first.
                post("/apps/call", SignedIn, apps::call_tool),
                /// Reads a resource for an app of the same server.
                post("/apps/read", SignedIn, apps::read_resource),
                /// Transcribes speech that the caller recorded. The recording is not stored.
                post("/transcriptions", SignedIn, transcriptions::transcribe),
                /// Lists the models and the default one.
                get("/models", SignedIn, models::list_models),
                /// Adds a model to the caller's favorites, or removes it. Safe to repeat.
                put("/models/favourites", SignedIn, models::set_favourite),
                /// Returns the model that the caller chose for one of their chats.
                get("/sessions/{id}/model", Owner, models::get_chat_model),
                /// Sets the model of one of the caller's chats, or returns it to the default.
                put("/sessions/{id}/model", Owner, models::set_chat_model),
                /// Lists the model providers of the caller.
                get("/model-providers", SignedIn, model_providers::list_providers),
                /// Adds a model provider. Its address is reached as the network policy permits.
                post("/model-providers", SignedIn, model_providers::create_provider),
                /// Changes one of the caller's providers. A new base URL requires the key again.
                patch("/model-providers/{id}", Owner, model_providers::update_provider),
                /// Removes one of the caller's providers, with its key.
                delete("/model-providers/{id}", Owner, model_providers::delete_provider),
                /// Asks one of the caller's providers for its models, now.
                post("/model-providers/{id}/test", Owner, model_providers::test_provider),
                /// Returns the model settings of one of the caller's chats, and the defaults that apply where they are
                /// unset.
                get("/sessions/{id}/settings", Owner, model_settings::get_chat_settings),
                /// Replaces the model settings of one of the caller's chats.
                put("/sessions/{id}/settings", Owner, model_settings::set_chat_settings),
                /// Returns the model and settings of the caller's chats that have none of their own.
                get("/model-defaults", SignedIn, model_settings::get_defaults),
                /// Sets the caller's model defaults, as a whole.
                put("/model-defaults", SignedIn, model_settings::set_defaults),
                /// Returns the usage and cost of the caller's model calls, by day (UTC) and model.
                get("/usage", SignedIn, usage::get_usage_by_day),
                /// Returns the quotas of the caller with their use.
                get("/quotas", SignedIn, usage::list_quotas),
                /// Lists the keys with which the caller's programs call the OpenAI-compatible API.
                get("/keys", SignedIn, api_keys::list_keys),
                /// Creates a key.
                post("/keys", SignedIn, api_keys::create_key),
                /// Deletes one of the caller's keys.
                delete("/keys/{id}", Owner, api_keys::delete_key),
                /// Deletes all keys of the caller.
                delete("/keys", SignedIn, api_keys::delete_all_keys),
                /// Streams events about the caller's chats and connections. The stream has no end.
                get("/events", SignedIn, events::stream_events),
                /// Lists the shared servers that are offered to the caller, by name.
                get("/shared-servers", SignedIn, shared_servers::list_shared_servers),
                /// Connects the caller to a shared server. Safe to repeat.
                post("/shared-servers/{id}/connect", SignedIn, shared_servers::connect_shared_server),
                /// Lists MCP servers of the registry that can be reached over HTTP.
                get("/registry/servers", SignedIn, registry::list_servers),
                /// Reports whether Google Drive can be linked, and whether it is.
                get("/google-drive", SignedIn, google_drive::get_status),
                /// Revokes and deletes the authorisation for Google Drive.
                delete("/google-drive", SignedIn, google_drive::unlink_drive),
                /// Lists the devices on which the caller is signed in.
                get("/account/devices", SignedIn, account::list_devices),
                /// Ends one of the caller's sign-ins.
                delete("/account/devices/{id}", Owner, account::sign_out_device),
                /// Lists what happened to the caller's account, newest first.
                get("/account/events", SignedIn, account_events::list_events),
                /// Returns the key with which browsers subscribe to push messages, and the caller's devices that do.
                get("/push", SignedIn, push::get_push),
                /// Subscribes the browser of the caller's sign-in to push messages, in place of its earlier
                /// subscription.
                post("/push/subscriptions", SignedIn, push::subscribe),
                /// Removes one of the caller's push subscriptions.
                delete("/push/subscriptions/{id}", Owner, push::unsubscribe),
                /// Lists the ways in which the caller can confirm their identity.
                get("/account/reauthentication", SignedIn, account::list_proof_methods),
                /// Verifies a proof of identity, after which the sign-in counts as recent. The body contains either
                /// password or nonce.
                post("/account/reauthentication", SignedIn, account::reauthenticate),
                /// Deletes the caller's account with everything that belongs to it.
                post("/account/delete", SignedIn, account::delete_account),
                /// Returns all data of the caller as one file.
                get("/account/export", SignedIn, export::export_account),
                /// Imports the chats of a file: an export of this program, or ChatGPT's conversations.
                post("/account/import", SignedIn, import::import_chats),
                /// Begins to link the caller's Google Drive.
                post("/google-drive/link", SignedIn, google_drive::start_link),
                // Google redirects the browser here without a token; a cookie identifies the user who began.
                /// Receives the browser from Google's consent page, and redirects it to the web app.
                get("/google-drive/callback", Anyone, google_drive::complete_link),
            },
            |routes| routes.fallback(error::no_such_route).method_not_allowed_fallback(error::method_not_allowed),
        ),
        mcp_servers::section(),
    ]
}

/// Returns method, path and [`Access`](http_server::route::Access) of every route, for tests and for the OpenAPI document.
pub fn entries() -> Vec<Entry> {
    route_table().iter().flat_map(Section::entries).collect()
}

/// Builds the router of the whole server. Paths outside every section are served by the web app.
fn build_router(app: &AppState) -> Router {
    let routes = route_table().into_iter().fold(Router::new(), |routes, section| section.add_to(routes));
    // Layers run from the last to the first: headers, host check, CORS, spans, metrics, panics, body limits. A rejected host must not
    // reach CORS, and a panic response needs the security headers too.
    let routes = routes
        .fallback(assets::serve)
        .layer(from_fn_with_state(
            BodyLimiter::new(app.config.limits.bodies_bytes, app.trusted_proxies.clone()),
            limit_body,
        ))
        .layer(CatchPanicLayer::custom(error::after_panic));
    let routes = if app.operator.is_some() { routes.layer(from_fn(request_metrics::record_request)) } else { routes };
    let routes = if app.config.traces.is_some() { routes.layer(from_fn(request_spans::trace_request)) } else { routes };
    let routes = routes.with_state(app.clone());
    let routes = cors::allow(routes, &app.config.cors_origins);
    let hosts = AllowedHosts::new(&app.site_url.0, &app.config.allowed_hosts);
    headers::security(host_check::check(routes, hosts), app.site_url.is_https())
}
