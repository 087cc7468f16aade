//! `/mcp`: the built-in MCP servers over streamable HTTP.
//!
//! The servers are stateless: each request gets one response. Therefore both protocol families are served by the same
//! code: modern clients send all context with each request, and the `initialize` of older ones can be answered
//! without a session.

mod caller;
mod message;
mod methods;
mod origin;
mod refusal;
mod revision;

use accounts::AccountService;
use axum::body::Body;
use axum::extract::{FromRef, Request, State};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use builtin_servers::{BuiltinServer, BuiltinServers};
use http_server::route::Access::{Anyone, OwnToken};
use http_server::route::{Section, post};

use crate::state::SiteUrl;
use crate::{AppState, error};
use message::Message;
use refusal::RpcError;

/// Maximum size of a message, in bytes. The toolbox needs no sign-in, so its anonymous callers must not occupy much
/// memory.
const MAX_MESSAGE_BYTES: usize = 64 * 1024;

/// Returns the routes of the servers. Other methods than POST respond 405, since there are no streams and no
/// sessions.
pub fn section() -> Section<AppState> {
    let routes = BuiltinServer::ALL.map(|server| {
        let access = if server.needs_sign_in() { OwnToken } else { Anyone };
        post(server.path(), access, move |State(endpoint): State<McpEndpoint>, request: Request| async move {
            let (parts, body) = request.into_parts();
            endpoint.respond(server, &parts, body).await.unwrap_or_else(IntoResponse::into_response)
        })
    });
    Section::new("/mcp", routes, |routes| {
        routes.fallback(error::no_such_route).method_not_allowed_fallback(error::method_not_allowed)
    })
}

/// The HTTP endpoint of all built-in servers.
#[derive(Debug, Clone)]
struct McpEndpoint {
    accounts: AccountService,
    servers: BuiltinServers,
    site_url: SiteUrl,
}

impl FromRef<AppState> for McpEndpoint {
    fn from_ref(state: &AppState) -> Self {
        Self {
            accounts: state.accounts.clone(),
            servers: state.builtin_servers.clone(),
            site_url: state.site_url.clone(),
        }
    }
}

impl McpEndpoint {
    /// Checks origin, caller and content type before the body is read, and then runs the method.
    async fn respond(&self, server: BuiltinServer, parts: &Parts, body: Body) -> Result<Response, RpcError> {
        // In this order: each check is cheaper than the next, and none reads the body.
        origin::check(&self.site_url, parts)?;
        let caller = if server.needs_sign_in() { Some(caller::identify(&self.accounts, parts).await?) } else { None };
        if !is_json(parts) {
            return Err(RpcError::unsupported_media_type());
        }
        let body = axum::body::to_bytes(body, MAX_MESSAGE_BYTES).await.map_err(|_| RpcError::too_large())?;
        match Message::read(&body)? {
            // 202 without a body is what the transport demands for notifications.
            Message::Notification => Ok(StatusCode::ACCEPTED.into_response()),
            Message::Request(request) => {
                let id = request.id.clone();
                methods::run(server, &self.servers, caller, parts, request).await.map_err(|refusal| refusal.about(id))
            }
        }
    }
}

/// Returns whether the body is JSON. Other types are rejected because a browser sends them across origins without a
/// preflight.
fn is_json(parts: &Parts) -> bool {
    let value = parts.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json")
}
