//! Prompts, resources and argument completion of the users' servers.

use std::collections::BTreeMap;

use domain::attachment::{Attached, Attachment};
use domain::resource::ResourceContents;
use domain::text::without_nul;
use domain::{AttachmentId, UserId};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use mcp::{CompletionTarget, Completions, Connection, Listing, Prompt, Resource, ResourceTemplate};
use schemars::JsonSchema;
use serde::Deserialize;
use storage::Storage;
use storage::servers::Server;

use super::ConnectionService;

/// Bytes of one mebibyte.
const MEBIBYTE: usize = 1024 * 1024;
/// Maximum size of an attachment, in bytes. It is part of its message, and clients load messages as a whole.
const MAX_ATTACHMENT_BYTES: usize = 4 * MEBIBYTE;

/// Error of a prompt or resource. The texts are sentences for users.
#[derive(Debug, thiserror::Error)]
pub enum ContextError {
    /// The server could not be reached, or failed.
    #[error("{0}")]
    Server(String),
    /// The server does not offer it.
    #[error("{0}")]
    NotOffered(String),
    /// It is larger than an attachment may be.
    #[error("{0}")]
    TooLarge(String),
    /// The database failed.
    #[error(transparent)]
    Storage(#[from] storage::Error),
}

/// A prompt or resource that a user attaches to a message.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AttachRequest {
    /// Name of the prompt or resource.
    #[serde(default)]
    pub name: String,
    /// Title for users.
    #[serde(default)]
    pub title: Option<String>,
    /// URI of a resource.
    #[serde(default)]
    pub uri: Option<String>,
    /// Arguments of a prompt.
    #[serde(default)]
    pub arguments: Option<BTreeMap<String, String>>,
}

impl ConnectionService {
    /// Lists the prompts of a server.
    pub async fn list_prompts(&self, user: UserId, server: &Server) -> Result<Listing<Prompt>, ContextError> {
        self.request(user, server, |connection| async move { connection.list_prompts().await }.boxed()).await
    }

    /// Lists the resources and resource templates of a server.
    pub async fn list_resources(
        &self,
        user: UserId,
        server: &Server,
    ) -> Result<(Listing<Resource>, Listing<ResourceTemplate>), ContextError> {
        let list_both = |connection: Connection| {
            async move { tokio::try_join!(connection.list_resources(), connection.list_resource_templates()) }.boxed()
        };
        self.request(user, server, list_both).await
    }

    /// Reads a resource of a server.
    pub async fn read_resource(
        &self,
        user: UserId,
        server: &Server,
        uri: &str,
    ) -> Result<Vec<ResourceContents>, ContextError> {
        let read = |connection: Connection| async move { connection.read_resource(uri).await }.boxed();
        let contents = self.request(user, server, read).await?;
        check_size(server, contents.iter().map(ResourceContents::size).sum())?;
        Ok(contents)
    }

    /// Returns completions of a prompt or template argument, given the values of the other arguments.
    pub async fn complete_argument(
        &self,
        user: UserId,
        server: &Server,
        target: &CompletionTarget,
        (name, value): (&str, &str),
        other_arguments: &BTreeMap<String, String>,
    ) -> Result<Completions, ContextError> {
        let complete = |connection: Connection| {
            async move { connection.complete(target.clone(), name, value, other_arguments.clone()).await }.boxed()
        };
        self.request(user, server, complete).await
    }

    /// Reads a resource or expands a prompt, and stores the result in `storage` for a later message.
    pub async fn attach(
        &self,
        storage: &Storage,
        user: UserId,
        server: &Server,
        request: AttachRequest,
    ) -> Result<Attachment, ContextError> {
        let content = if let Some(uri) = request.uri {
            let contents = self.read_resource(user, server, &uri).await?;
            Attached::Resource { uri, contents }
        } else {
            let arguments = request.arguments.unwrap_or_default();
            let (name, arguments) = (&request.name, &arguments);
            let get = |connection: Connection| async move { connection.get_prompt(name, arguments).await }.boxed();
            let prompt = self.request(user, server, get).await?;
            Attached::Prompt { arguments: arguments.clone(), messages: prompt.messages }
        };
        let attachment = Attachment {
            // Generated after the response, so that no server can know the id.
            id: AttachmentId::fresh(),
            server_name: server.name.clone(),
            name: without_nul(request.name),
            title: request.title.map(without_nul),
            content,
        };
        // As JSON, in which it is stored and loaded: escapes and base64 make it larger than the content is.
        check_size(server, serde_json::to_string(&attachment).map_or(usize::MAX, |text| text.len()))?;
        storage.attachments().insert(user, &attachment, self.clock.now()).await?;
        Ok(attachment)
    }

    /// Sends a request to a server, and repeats it once over a new connection if the connection was lost. Therefore `send`
    /// must not change anything at the server.
    pub(crate) async fn request<'q, T>(
        &self,
        user: UserId,
        server: &Server,
        send: impl Fn(Connection) -> BoxFuture<'q, Result<T, mcp::Error>>,
    ) -> Result<T, ContextError> {
        let sentence = |reason: &str| format!("The server {} {reason}.", server.name);
        let _in_use = self.keep_open(user, server);
        let mut is_last_try = false;
        loop {
            let connection = self.pool.open_connection(user, server).await;
            let connection = connection.map_err(|error| ContextError::Server(sentence(&error.to_string())))?;
            let error = match send(connection.clone()).await {
                Ok(response) => return Ok(response),
                Err(error) => error,
            };
            if let Some(challenge) = error.challenge()
                && let Some(reason) = self.pool.require_sign_in(user, server, challenge, false)
            {
                return Err(ContextError::Server(sentence(&reason)));
            }
            if matches!(error, mcp::Error::NotOffered(_)) {
                return Err(ContextError::NotOffered(sentence(&error.to_string())));
            }
            let is_lost = connection.is_closed() || matches!(error, mcp::Error::Closed | mcp::Error::ConnectionRefused);
            if is_lost {
                self.pool.mark_disconnected(user, server, &error.to_string()).await;
            }
            if is_last_try || !is_lost {
                return Err(ContextError::Server(sentence(&error.to_string())));
            }
            is_last_try = true;
        }
    }
}

/// Checks that an attachment is not too large.
fn check_size(server: &Server, bytes: usize) -> Result<(), ContextError> {
    if bytes <= MAX_ATTACHMENT_BYTES {
        return Ok(());
    }
    let (name, limit) = (&server.name, MAX_ATTACHMENT_BYTES / MEBIBYTE);
    Err(ContextError::TooLarge(format!(
        "The server {name} gave more than {limit} MiB, which is too much to be attached."
    )))
}
