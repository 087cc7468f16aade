//! JSON-RPC errors and their HTTP statuses.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use http_server::error::{OUTAGE_RETRY, is_outage};
use serde_json::{Value, json};

use super::revision::{Era, SUPPORTED_VERSIONS};

// Codes of the JSON-RPC specification; the last two are defined by MCP.
const PARSE_ERROR: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;
const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;
const INTERNAL_ERROR: i64 = -32603;
const HEADER_MISMATCH: i64 = -32020;
const UNSUPPORTED_PROTOCOL_VERSION: i64 = -32022;

/// A JSON-RPC error response. Boxed, so that results stay small.
#[derive(Debug)]
pub struct RpcError(Box<Details>);

#[derive(Debug)]
struct Details {
    status: StatusCode,
    code: i64,
    message: String,
    data: Option<Value>,
    id: Option<Value>,
}

impl RpcError {
    fn new(status: StatusCode, code: i64, message: impl Into<String>) -> Self {
        Self(Box::new(Details { status, code, message: message.into(), data: None, id: None }))
    }

    /// Creates an error of the HTTP layer rather than of the message. The code equals the status, because JSON-RPC
    /// defines none.
    fn at_the_door(status: StatusCode, message: &str) -> Self {
        Self::new(status, i64::from(status.as_u16()), message)
    }

    pub fn too_large() -> Self {
        Self::at_the_door(StatusCode::PAYLOAD_TOO_LARGE, "The message is longer than 64 KiB, or broke off.")
    }

    pub fn unsupported_media_type() -> Self {
        Self::at_the_door(StatusCode::UNSUPPORTED_MEDIA_TYPE, "Messages are sent as application/json.")
    }

    pub fn unauthorized() -> Self {
        Self::at_the_door(StatusCode::UNAUTHORIZED, "Sign in: send an access token as a bearer token.")
    }

    /// Creates an internal error. The cause is only logged.
    pub fn internal(error: &anyhow::Error) -> Self {
        tracing::error!(error = format!("{error:#}"), "a call to a built-in MCP server failed");
        let status = if is_outage(error) { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::INTERNAL_SERVER_ERROR };
        Self::new(status, INTERNAL_ERROR, "Internal error: try again soon")
    }

    pub fn forbidden(why: &str) -> Self {
        Self::at_the_door(StatusCode::FORBIDDEN, &format!("Forbidden: {why}."))
    }

    pub fn not_json(error: &serde_json::Error) -> Self {
        Self::new(StatusCode::BAD_REQUEST, PARSE_ERROR, format!("Parse error: {error}"))
    }

    pub fn invalid_request(why: &str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, INVALID_REQUEST, format!("Invalid request: {why}"))
    }

    /// Creates the error for an unknown method. The older protocol versions define no HTTP status for errors within a
    /// request, so it is 200 there.
    pub fn method_not_found(era: Era, method: &str) -> Self {
        let status = if era == Era::Modern { StatusCode::NOT_FOUND } else { StatusCode::OK };
        Self::new(status, METHOD_NOT_FOUND, format!("Method not found: {method}"))
    }

    /// Creates the error for a well-formed request that refers to something unknown.
    pub fn invalid_params(why: impl Into<String>) -> Self {
        Self::new(StatusCode::OK, INVALID_PARAMS, why)
    }

    /// Creates the error for a request without metadata that its protocol version demands.
    pub fn missing_meta(field: &str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, INVALID_PARAMS, format!("Invalid params: _meta lacks {field}"))
    }

    pub fn header_mismatch(why: &str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, HEADER_MISMATCH, format!("Header mismatch: {why}"))
    }

    pub fn unsupported_version(requested: &str) -> Self {
        let mut refusal =
            Self::new(StatusCode::BAD_REQUEST, UNSUPPORTED_PROTOCOL_VERSION, "Unsupported protocol version");
        refusal.0.data = Some(json!({ "supported": SUPPORTED_VERSIONS, "requested": requested }));
        refusal
    }

    /// Adds the id of the request that the error responds to.
    pub fn about(mut self, id: Value) -> Self {
        self.0.id = Some(id);
        self
    }
}

impl IntoResponse for RpcError {
    fn into_response(self) -> Response {
        let Details { status, code, message, data, id } = *self.0;
        let mut error = json!({ "code": code, "message": message });
        if let Some(data) = data {
            error["data"] = data;
        }
        let mut body = json!({ "jsonrpc": "2.0", "error": error });
        // Left out rather than null where the request could not be read, since ids of MCP are never null.
        if let Some(id) = id {
            body["id"] = id;
        }
        let mut response = (status, Json(body)).into_response();
        if status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(OUTAGE_RETRY));
        }
        if status == StatusCode::UNAUTHORIZED {
            // Without `resource_metadata`: these servers accept tokens of this server only, and have no OAuth flow.
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
