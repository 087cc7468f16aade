//! `/mcp`: our own MCP servers over streamable HTTP. One request, one answer, nothing remembered in between, so both eras
//! of the protocol are served at once: the modern one says everything with each request, and to the older ones a server
//! without sessions is as good as any.

mod caller;
mod message;
mod methods;
mod origin;
mod own_server;
mod refusal;
mod revision;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::app::App;
use crate::http::error;
use crate::http::route::Access::{Anyone, OwnToken};
use crate::http::route::{Section, post};

use message::Message;
use own_server::OwnServer;
use refusal::Refusal;

/// The largest message, in bytes. Nobody need be signed in for the toolbox, so its callers hold as little memory as they can.
const MAX_MESSAGE_BYTES: usize = 64 * 1024;

/// The servers, each at its own address. What is no POST is answered 405: there are no streams and no sessions.
pub fn section() -> Section {
    let routes = OwnServer::ALL.map(|server| {
        let access = if server.needs_sign_in() { OwnToken } else { Anyone };
        post(server.path(), access, move |State(app): State<App>, request: Request| answer(server, app, request))
    });
    Section::new("/mcp", routes, |routes| {
        routes.fallback(error::no_such_route).method_not_allowed_fallback(error::method_not_allowed)
    })
}

async fn answer(server: OwnServer, app: App, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    respond(server, &app, &parts, body).await.unwrap_or_else(IntoResponse::into_response)
}

/// Answers a message. Nothing of the body is read before its sender may send one.
async fn respond(server: OwnServer, app: &App, parts: &Parts, body: Body) -> Result<Response, Refusal> {
    origin::check(app, parts)?;
    let caller = if server.needs_sign_in() { Some(caller::identify(app, parts).await?) } else { None };
    if !is_json(parts) {
        return Err(Refusal::unsupported_media_type());
    }
    let body = axum::body::to_bytes(body, MAX_MESSAGE_BYTES).await.map_err(|_| Refusal::too_large())?;
    match Message::read(&body)? {
        Message::Notification => Ok(StatusCode::ACCEPTED.into_response()),
        Message::Request(request) => {
            let id = request.id.clone();
            methods::run(server, app, caller, parts, request).await.map_err(|refusal| refusal.about(id))
        }
    }
}

/// Anything else than JSON is a form that a foreign page could send without asking.
fn is_json(parts: &Parts) -> bool {
    let value = parts.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json")
}
