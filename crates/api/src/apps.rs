//! `/api/apps` and `/sandbox`: pages of MCP Apps, their requests to their own server, and the sandbox frame around
//! them and around previews of answers.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use connections::ConnectionService;
use connections::apps::{AppCallOutcome, AppConsent, AppError, AppPage, BrowserFeature, ConsentRequest, SandboxPolicy};
use domain::resource::ResourceContents;
use domain::tool::ToolDefinition;
use http_server::error::ApiError;
use http_server::extract::{JsonBody, Named};
use platform::SecretSealer;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use storage::Storage;
use storage::servers::Server;

use super::manual_tool_calls::ToolCallResult;
use crate::signed_in::SignedIn;

/// HTML of the sandbox frame. It relays messages between the web app and the app's inner frame, and does nothing
/// else.
const SANDBOX_HTML: &str = include_str!("apps/sandbox.html");
/// Maximum length of a resource URI, in characters.
const MAX_URI_CHARS: usize = 2_048;

/// The tool whose app is to be opened.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpenApp {
    /// Name of the connection.
    server_name: String,
    tool: String,
}

/// The page of a tool, and where and with which permissions it is to be shown.
#[derive(Debug, Serialize, JsonSchema)]
pub struct OpenedApp {
    csp: SandboxPolicy,
    /// Address of the frame.
    frame: String,
    html: String,
    /// Browser features that the frame is permitted, as fields without content, as MCP Apps defines them.
    permissions: Map<String, Value>,
    tool: ToolDefinition,
}

/// Returns the page of a tool, the URL of its sandbox frame, and the policies of the frame.
pub async fn open_app(
    State(storage): State<Storage>,
    State(connections): State<ConnectionService>,
    State(secrets): State<Arc<SecretSealer>>,
    caller: SignedIn,
    JsonBody(body): JsonBody<OpenApp>,
) -> Result<Json<OpenedApp>, ApiError> {
    let server = find_connection(&storage, &caller, &body.server_name).await?;
    let AppPage { tool, html, policy: mut csp } =
        connections.read_app_page(caller.user, &server, &body.tool).await.map_err(to_api_error)?;
    // The policies are sealed into the URL, so the sandbox route needs neither a token nor a lookup.
    let frame = format!("/sandbox/{}", csp.seal(&secrets)?);
    // The features are returned in the form that MCP Apps defines.
    let features = std::mem::take(&mut csp.features).into_iter().map(BrowserFeature::as_str);
    let permissions = features.map(|name| (name.to_owned(), Map::new().into())).collect();
    Ok(Json(OpenedApp { csp, frame, html, permissions, tool }))
}

/// A tool call of an app.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppToolCall {
    /// Name of the connection.
    server_name: String,
    /// Name of the tool.
    name: String,
    #[serde(default)]
    arguments: Map<String, Value>,
    /// The user's decision, after a first call returned `ask`.
    #[serde(default)]
    consent: Option<AppConsent>,
}

/// The tool's result, or the approval that the user has to give first.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum AppToolCallOutcome {
    /// The tool was called.
    Result(ToolCallResult),
    /// The tool was not called.
    Ask {
        /// What to ask the user.
        ask: ConsentRequest,
    },
}

/// Calls a tool on behalf of an app of the same server, or returns the approval that the user must give first.
pub async fn call_tool(
    State(storage): State<Storage>,
    State(connections): State<ConnectionService>,
    caller: SignedIn,
    JsonBody(body): JsonBody<AppToolCall>,
) -> Result<Json<AppToolCallOutcome>, ApiError> {
    let server = find_connection(&storage, &caller, &body.server_name).await?;
    let wanted = (body.name.as_str(), body.arguments);
    match connections.call_for_app(caller.user, &server, wanted, body.consent).await.map_err(to_api_error)? {
        AppCallOutcome::Result { result, duration_ms } => {
            Ok(Json(AppToolCallOutcome::Result(ToolCallResult { duration_ms, result })))
        }
        AppCallOutcome::Ask(ask) => Ok(Json(AppToolCallOutcome::Ask { ask })),
        AppCallOutcome::Denied => {
            let message = "you do not allow this tool".to_owned();
            Err(ApiError::Unprocessable { code: "tool_not_allowed", message })
        }
        AppCallOutcome::Failed(message) => Err(ApiError::Upstream { code: "tool_failed", message }),
    }
}

/// A resource that an app reads.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppResourceRequest {
    /// Name of the connection.
    server_name: String,
    #[schemars(length(max = MAX_URI_CHARS))]
    uri: String,
}

/// The contents of a resource, in the format of MCP.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ReadResource {
    /// Content items.
    pub contents: Vec<ResourceContents>,
}

/// Reads a resource on behalf of an app of the same server.
pub async fn read_resource(
    State(storage): State<Storage>,
    State(connections): State<ConnectionService>,
    caller: SignedIn,
    JsonBody(body): JsonBody<AppResourceRequest>,
) -> Result<Json<ReadResource>, ApiError> {
    if body.uri.chars().count() > MAX_URI_CHARS {
        return Err(ApiError::BadRequest(format!("uri is longer than {MAX_URI_CHARS} characters")));
    }
    let server = find_connection(&storage, &caller, &body.server_name).await?;
    let contents = connections.read_resource_for_app(caller.user, &server, &body.uri).await.map_err(to_api_error)?;
    Ok(Json(ReadResource { contents }))
}

/// Serves the sandbox frame with the policies that are sealed in its URL.
pub async fn serve_sandbox(
    State(secrets): State<Arc<SecretSealer>>,
    Named(policy): Named,
) -> Result<Response, ApiError> {
    let policy = SandboxPolicy::open(&secrets, &policy).ok_or(ApiError::NotFound("app"))?;
    sandbox_frame(&policy, "allow-scripts allow-forms")
}

/// Serves the sandbox frame of previews, whose pages may run their own scripts and reach nothing.
pub async fn serve_preview() -> Result<Response, ApiError> {
    sandbox_frame(&SandboxPolicy::default(), "allow-scripts")
}

/// Returns the sandbox frame with a policy and the flags of its sandbox.
fn sandbox_frame(policy: &SandboxPolicy, flags: &str) -> Result<Response, ApiError> {
    // Without `allow-same-origin` the frame has an opaque origin and reaches neither our storage nor our page.
    let csp = policy.content_security_policy("'self'", flags);
    let value = |text: String| HeaderValue::try_from(text).map_err(|error| ApiError::Internal(error.into()));
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (header::CONTENT_SECURITY_POLICY, value(csp)?),
        (HeaderName::from_static("permissions-policy"), value(policy.permissions_policy())?),
        // Only this page may be framed, and by our own origin alone.
        (header::X_FRAME_OPTIONS, HeaderValue::from_static("SAMEORIGIN")),
        (header::X_DNS_PREFETCH_CONTROL, HeaderValue::from_static("off")),
        (header::CACHE_CONTROL, HeaderValue::from_static("private, max-age=3600")),
    ];
    Ok((headers, SANDBOX_HTML).into_response())
}

/// Returns the caller's connection of this name.
async fn find_connection(storage: &Storage, caller: &SignedIn, name: &str) -> Result<Server, ApiError> {
    let servers = storage.connections().list(caller.user).await?;
    servers.into_iter().find(|server| server.name == name).ok_or(ApiError::NotFound("connection"))
}

/// Converts to the error response.
fn to_api_error(error: AppError) -> ApiError {
    let code = match error {
        AppError::NoTool(_) => "unknown_tool",
        AppError::NoApp => "no_app",
        AppError::NoResource(_) => "no_resource",
        AppError::NotForApps(_) => "tool_not_for_apps",
        AppError::Unusable(_) | AppError::Server(_) => {
            return ApiError::Upstream { code: "app_failed", message: error.to_string() };
        }
    };
    ApiError::Unprocessable { code, message: error.to_string() }
}
