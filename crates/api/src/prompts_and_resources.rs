//! `/api/connections/{id}/…`: prompts, resources, argument completion, attachments and icons of a connection.

use std::collections::BTreeMap;

use agent::chats::temporary::TemporaryChats;
use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, NoContent, Response};
use connections::{AttachRequest, ConnectionService, ContextError};
use domain::attachment::Attachment;
use domain::model::PICTURE_TYPES;
use domain::{AttachmentId, ChatId};
use http_server::error::ApiError;
use http_server::extract::{JsonBody, Named, Query};
use http_server::openapi::{Operation, OperationOutput};
use mcp::{CompletionTarget, Completions, IconError, Prompt, Resource, ResourceTemplate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use storage::Storage;

use super::apps::ReadResource;
use super::connections::find_own_server;
use crate::signed_in::SignedIn;

/// Content security policy of icons: a browser may display one, but not run or frame anything in it.
const PICTURE_POLICY: &str = "default-src 'none'; sandbox";

/// Converts to the error response.
fn to_api_error(error: ContextError) -> ApiError {
    match error {
        ContextError::Server(message) => ApiError::Upstream { code: "server_failed", message },
        ContextError::NotOffered(message) => ApiError::Unprocessable { code: "not_offered", message },
        ContextError::TooLarge(message) => ApiError::Unprocessable { code: "too_large", message },
        ContextError::Storage(error) => error.into(),
    }
}

/// The prompts of a connection's server.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PromptList {
    /// Whether the server has more than can be used.
    is_cut: bool,
    prompts: Vec<Prompt>,
}

/// The resources of a connection's server, and the templates of more.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceList {
    /// Whether the server has more than can be used.
    is_cut: bool,
    resources: Vec<Resource>,
    templates: Vec<ResourceTemplate>,
}

/// Lists a connection's prompts.
pub async fn list_prompts(
    State(storage): State<Storage>,
    State(connections): State<ConnectionService>,
    caller: SignedIn,
    Named(id): Named,
) -> Result<Json<PromptList>, ApiError> {
    let server = find_own_server(&storage, &caller, &id).await?;
    let prompts = connections.list_prompts(caller.user, &server).await.map_err(to_api_error)?;
    Ok(Json(PromptList { is_cut: prompts.is_cut, prompts: prompts.items }))
}

/// Lists a connection's resources and resource templates.
pub async fn list_resources(
    State(storage): State<Storage>,
    State(connections): State<ConnectionService>,
    caller: SignedIn,
    Named(id): Named,
) -> Result<Json<ResourceList>, ApiError> {
    let server = find_own_server(&storage, &caller, &id).await?;
    let (resources, templates) = connections.list_resources(caller.user, &server).await.map_err(to_api_error)?;
    // Long lists are truncated; the web app then says so.
    let is_cut = resources.is_cut || templates.is_cut;
    Ok(Json(ResourceList { is_cut, resources: resources.items, templates: templates.items }))
}

/// The resource of a request.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ResourceUri {
    uri: String,
}

/// Outcome of a subscription to a resource.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SubscriptionOutcome {
    /// Whether the server supports subscriptions.
    watching: bool,
}

/// Reads a resource of the connection.
pub async fn read_resource(
    State(storage): State<Storage>,
    State(connections): State<ConnectionService>,
    caller: SignedIn,
    Named(id): Named,
    JsonBody(body): JsonBody<ResourceUri>,
) -> Result<Json<ReadResource>, ApiError> {
    let server = find_own_server(&storage, &caller, &id).await?;
    let contents = connections.read_resource(caller.user, &server, &body.uri).await.map_err(to_api_error)?;
    Ok(Json(ReadResource { contents }))
}

/// Subscribes to a resource for a limited time. Changes are reported on the user's event stream.
pub async fn subscribe_resource(
    State(storage): State<Storage>,
    State(connections): State<ConnectionService>,
    caller: SignedIn,
    Named(id): Named,
    JsonBody(body): JsonBody<ResourceUri>,
) -> Result<Json<SubscriptionOutcome>, ApiError> {
    let server = find_own_server(&storage, &caller, &id).await?;
    let watching = connections.subscribe_resource(caller.user, &server, &body.uri).await.map_err(to_api_error)?;
    Ok(Json(SubscriptionOutcome { watching }))
}

/// Ends the subscription to a resource.
pub async fn unsubscribe_resource(
    State(storage): State<Storage>,
    State(connections): State<ConnectionService>,
    caller: SignedIn,
    Named(id): Named,
    Query(query): Query<ResourceUri>,
) -> Result<NoContent, ApiError> {
    let server = find_own_server(&storage, &caller, &id).await?;
    connections.unsubscribe_resource(caller.user, server.id, &query.uri);
    Ok(NoContent)
}

/// An argument to complete.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct IncompleteArgument {
    #[serde(rename = "for")]
    blank: CompletionTarget,
    /// Name of the argument.
    name: String,
    /// Its value so far.
    #[serde(default)]
    value: String,
    /// Values of the other arguments, which the server may consider.
    #[serde(default)]
    filled: BTreeMap<String, String>,
}

/// Returns the server's completions for an argument of a prompt or a variable of a resource template.
pub async fn complete_argument(
    State(storage): State<Storage>,
    State(connections): State<ConnectionService>,
    caller: SignedIn,
    Named(id): Named,
    JsonBody(body): JsonBody<IncompleteArgument>,
) -> Result<Json<Completions>, ApiError> {
    let server = find_own_server(&storage, &caller, &id).await?;
    let argument = (body.name.as_str(), body.value.as_str());
    let (target, filled) = (&body.blank, &body.filled);
    Ok(Json(connections.complete_argument(caller.user, &server, target, argument, filled).await.map_err(to_api_error)?))
}

/// The content of a new attachment: either a resource or a prompt.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(extend("oneOf" = [{ "required": ["resource"] }, { "required": ["prompt"] }]))]
pub struct NewAttachment {
    /// The temporary chat that the attachment is for. It is held in memory and never stored.
    #[serde(default, rename = "sessionId")]
    session_id: Option<ChatId>,
    #[serde(default)]
    #[schemars(required, extend("required" = ["uri"], "properties" = { "uri": { "type": "string" } }))]
    resource: Option<AttachRequest>,
    #[serde(default)]
    #[schemars(required, extend("required" = ["name"], "properties" = { "name": { "minLength": 1 } }))]
    prompt: Option<AttachRequest>,
}

/// Reads a resource or renders a prompt, and stores it as an [`Attachment`] until a message refers to it.
pub async fn create_attachment(
    State(storage): State<Storage>,
    State(temporary): State<TemporaryChats>,
    State(connections): State<ConnectionService>,
    caller: SignedIn,
    Named(id): Named,
    JsonBody(body): JsonBody<NewAttachment>,
) -> Result<Json<Attachment>, ApiError> {
    let server = find_own_server(&storage, &caller, &id).await?;
    let wish = match (body.resource, body.prompt) {
        (Some(wish), None) if wish.uri.is_some() => wish,
        // `attach` takes every request with a URI for a resource.
        (None, Some(wish)) if !wish.name.is_empty() => AttachRequest { uri: None, ..wish },
        (Some(_), None) => return Err(ApiError::BadRequest("resource.uri is missing".into())),
        (None, Some(_)) => return Err(ApiError::BadRequest("prompt.name is missing".into())),
        _ => return Err(ApiError::BadRequest("either resource or prompt is required".into())),
    };
    let home = body.session_id.map_or_else(|| storage.clone(), |chat| temporary.store_for(caller.user, chat));
    Ok(Json(connections.attach(&home, caller.user, &server, wish).await.map_err(to_api_error)?))
}

/// Returns an attachment that no message refers to yet.
pub async fn get_attachment(
    State(temporary): State<TemporaryChats>,
    State(storage): State<Storage>,
    caller: SignedIn,
    Named(id): Named,
) -> Result<Json<Attachment>, ApiError> {
    let not_found = || ApiError::NotFound("attachment");
    // The id does not say where an attachment is stored, so both stores are asked, the one in memory first.
    let id: AttachmentId = id.parse().map_err(|_| not_found())?;
    let found = match temporary.attachment(caller.user, id).await? {
        Some(found) => Some(found),
        None => storage.attachments().get(caller.user, id).await?,
    };
    found.map(Json).ok_or_else(not_found)
}

/// Query parameters of [`get_icon`].
#[derive(Debug, Deserialize, JsonSchema)]
pub struct IconQuery {
    /// Address of the icon, as the server declared it.
    src: String,
}

/// The response of an icon.
#[derive(Debug)]
pub struct IconResponse(Response);

impl IntoResponse for IconResponse {
    fn into_response(self) -> Response {
        self.0
    }
}

impl OperationOutput for IconResponse {
    fn describe(operation: &mut Operation<'_>) {
        for media_type in PICTURE_TYPES {
            operation.add_content(
                StatusCode::OK,
                "The icon.",
                media_type,
                json!({ "type": "string", "format": "binary" }),
            );
        }
    }
}

/// Returns an icon that the connection's server declared. This server fetches it, so that the user's browser does not
/// contact foreign servers.
pub async fn get_icon(
    State(storage): State<Storage>,
    State(connections): State<ConnectionService>,
    caller: SignedIn,
    Named(id): Named,
    Query(query): Query<IconQuery>,
) -> Result<IconResponse, ApiError> {
    let server = find_own_server(&storage, &caller, &id).await?;
    let picture = connections.fetch_icon(&server, &query.src).await.map_err(|error| match error {
        IconError::Server(_) => ApiError::Upstream { code: "server_failed", message: error.to_string() },
        _ => ApiError::Unprocessable { code: "icon_refused", message: error.to_string() },
    })?;
    let headers = [
        (header::CONTENT_TYPE, picture.mime_type),
        (header::CACHE_CONTROL, "private, max-age=86400"),
        (header::CONTENT_SECURITY_POLICY, PICTURE_POLICY),
    ];
    Ok(IconResponse((headers, picture.bytes).into_response()))
}
