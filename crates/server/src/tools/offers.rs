//! What people's servers offer beside tools: prompts, resources, completion and pictures.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use domain::attachment::{Attached, Attachment};
use domain::resource::ResourceContents;
use domain::text::without_nul;
use domain::{AttachmentId, Timestamp, UserId};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use mcp::{
    CompletionTarget, Completions, Connection, IconError, IconImage, Listing, Prompt, Resource, ResourceTemplate,
};
use serde::Deserialize;
use store::Store;
use store::servers::Server;
use url::Url;

use super::Tools;
use crate::app::App;

/// Bytes of an attachment as it is stored. It is a part of its message, and messages are loaded by the page.
const ATTACHMENT: usize = 4 * 1024 * 1024;
/// Pictures that are kept for everybody.
const PICTURES: usize = 128;
/// How long a picture is taken for what it was, and a failure for a failure.
const FRESH: Duration = Duration::from_hours(1);

/// Why a server's offer could not be had.
#[derive(Debug, thiserror::Error)]
pub enum OfferError {
    /// The server could not be asked, or failed; a sentence.
    #[error("{0}")]
    Server(String),
    /// The server has no such thing; a sentence.
    #[error("{0}")]
    NotOffered(String),
    /// It is more than a message may hold; a sentence.
    #[error("{0}")]
    TooLarge(String),
    /// The database.
    #[error(transparent)]
    Store(#[from] store::Error),
}

/// What a person wants to attach.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Wish {
    /// What it is called.
    #[serde(default)]
    pub name: String,
    /// A name for people.
    #[serde(default)]
    pub title: Option<String>,
    /// The address, for a resource.
    #[serde(default)]
    pub uri: Option<String>,
    /// What to fill in, for a prompt.
    #[serde(default)]
    pub arguments: Option<BTreeMap<String, String>>,
}

/// Pictures that were fetched, or could not be, by their addresses. They were fetched without credentials, so that they
/// are the same for everybody.
#[derive(Debug, Default)]
pub struct Pictures(Mutex<HashMap<String, (Timestamp, Fetched)>>);

/// What came of fetching a picture.
type Fetched = Result<IconImage, IconError>;

impl Tools {
    /// The prompts of a server.
    pub async fn prompts(&self, app: &App, user: UserId, server: &Server) -> Result<Listing<Prompt>, OfferError> {
        self.ask(app, user, server, |connection| async move { connection.list_prompts().await }.boxed()).await
    }

    /// The resources of a server, and the templates of more.
    pub async fn resources(
        &self,
        app: &App,
        user: UserId,
        server: &Server,
    ) -> Result<(Listing<Resource>, Listing<ResourceTemplate>), OfferError> {
        let both = |connection: Connection| {
            async move { tokio::try_join!(connection.list_resources(), connection.list_resource_templates()) }.boxed()
        };
        self.ask(app, user, server, both).await
    }

    /// What a resource of a server holds.
    pub async fn read_resource(
        &self,
        app: &App,
        user: UserId,
        server: &Server,
        uri: &str,
    ) -> Result<Vec<ResourceContents>, OfferError> {
        let read = |connection: Connection| async move { connection.read_resource(uri).await }.boxed();
        let contents = self.ask(app, user, server, read).await?;
        bounded(server, contents.iter().map(ResourceContents::size).sum())?;
        Ok(contents)
    }

    /// What a server proposes for a blank.
    pub async fn complete(
        &self,
        app: &App,
        user: UserId,
        server: &Server,
        blank: &CompletionTarget,
        argument: (&str, &str),
        filled: &BTreeMap<String, String>,
    ) -> Result<Completions, OfferError> {
        let (name, value) = argument;
        let ask = |connection: Connection| {
            async move { connection.complete(blank.clone(), name, value, filled.clone()).await }.boxed()
        };
        self.ask(app, user, server, ask).await
    }

    /// Reads a resource or fills in a prompt, and keeps it in `home` for a message to come.
    pub async fn attach(
        &self,
        app: &App,
        home: &Store,
        user: UserId,
        server: &Server,
        wish: Wish,
    ) -> Result<Attachment, OfferError> {
        let content = if let Some(uri) = wish.uri {
            let contents = self.read_resource(app, user, server, &uri).await?;
            Attached::Resource { uri, contents }
        } else {
            let arguments = wish.arguments.unwrap_or_default();
            let (name, arguments) = (&wish.name, &arguments);
            let ask = |connection: Connection| async move { connection.get_prompt(name, arguments).await }.boxed();
            let filled = self.ask(app, user, server, ask).await?;
            Attached::Prompt { arguments: arguments.clone(), messages: filled.messages }
        };
        let attachment = Attachment {
            // Made after the server has answered, so that no server can know it.
            id: AttachmentId::fresh(),
            server_name: server.name.clone(),
            name: without_nul(wish.name),
            title: wish.title.map(without_nul),
            content,
        };
        bounded(server, serde_json::to_string(&attachment).map_or(usize::MAX, |text| text.len()))?;
        home.insert_attachment(user, &attachment, app.clock.now()).await?;
        Ok(attachment)
    }

    /// A picture that a server names.
    pub async fn icon(&self, app: &App, server: &Server, src: &str) -> Result<IconImage, IconError> {
        let url = Url::parse(&server.url).map_err(|_| IconError::Forbidden)?;
        // The rules are those of the server, so that a picture of one is not one of the other.
        let key = format!("{} {src}", url.origin().ascii_serialization());
        let now = app.clock.now();
        if let Some(known) = self.pictures.get(&key, now) {
            return known;
        }
        let picture = self.client.fetch_icon(&url, src).await;
        self.pictures.keep(key, now, picture.clone());
        picture
    }

    /// Asks a server, and once more over a new connection if the old one turns out to be gone. Nothing that is asked
    /// this way changes anything.
    pub(super) async fn ask<'q, T>(
        &self,
        app: &App,
        user: UserId,
        server: &Server,
        question: impl Fn(Connection) -> BoxFuture<'q, Result<T, mcp::Error>>,
    ) -> Result<T, OfferError> {
        let sentence = |reason: &str| format!("The server {} {reason}.", server.name);
        let _in_use = self.pool.in_use(user, server);
        let mut last_try = false;
        loop {
            let connection = self.pool.connection(app, user, server).await;
            let connection = connection.map_err(|reason| OfferError::Server(sentence(&reason)))?;
            let error = match question(connection.clone()).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            if let Some(challenge) = error.challenge()
                && let Some(reason) = self.pool.demand_sign_in(app, user, server, challenge, false)
            {
                return Err(OfferError::Server(sentence(&reason)));
            }
            if matches!(error, mcp::Error::NotOffered(_)) {
                return Err(OfferError::NotOffered(sentence(&error.to_string())));
            }
            let is_gone = connection.is_closed() || matches!(error, mcp::Error::Closed | mcp::Error::ConnectionRefused);
            if is_gone {
                self.pool.lose(app, user, server, &error.to_string()).await;
            }
            if last_try || !is_gone {
                return Err(OfferError::Server(sentence(&error.to_string())));
            }
            last_try = true;
        }
    }
}

impl Pictures {
    fn get(&self, key: &str, now: Timestamp) -> Option<Fetched> {
        let pictures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (since, picture) = pictures.get(key)?;
        (u128::from(now.millis_since(*since)) < FRESH.as_millis()).then(|| picture.clone())
    }

    fn keep(&self, key: String, now: Timestamp, picture: Fetched) {
        let mut pictures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if pictures.len() >= PICTURES {
            // Each is had again with one question.
            pictures.clear();
        }
        pictures.insert(key, (now, picture));
    }
}

fn bounded(server: &Server, bytes: usize) -> Result<(), OfferError> {
    if bytes <= ATTACHMENT {
        return Ok(());
    }
    let (name, most) = (&server.name, ATTACHMENT / (1024 * 1024));
    Err(OfferError::TooLarge(format!("The server {name} gave more than {most} MiB, which is too much to be attached.")))
}
