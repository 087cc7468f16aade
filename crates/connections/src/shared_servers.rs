//! MCP servers that the operator offers: users connect to them with one request, without an address or a key.

use std::collections::{BTreeMap, BTreeSet};

use domain::server_url::{has_masked_values, split_query};
use domain::{ServerId, SharedServerId, Timestamp, UserId};
use mcp::ConnectionTarget;
use platform::config::HostName;
use platform::{AuditLog, SecretSealer};
use schemars::JsonSchema;
use serde::Serialize;
use storage::Storage;
use storage::audit_events::{AuditActor, AuditEventKind};
use storage::shared_servers::{OfferedServer, SharedServer};
use url::Url;

use crate::secret_owner::SecretOwner;
use crate::update::validate_name;
use crate::{ConnectionDto, ConnectionService, UpdateError, headers, url_query};

/// Maximum length of a description, in characters.
const MAX_DESCRIPTION_CHARS: usize = 500;
/// Maximum number of names that are tried for a connection: the server's name, and the same with a number.
const MAX_NAMES: u32 = 50;

/// An offer of the operator, in plain text.
#[derive(Debug)]
pub struct ServerOffer<'a> {
    /// Name; an offer with the same name is replaced.
    pub name: &'a str,
    /// URL with its whole query.
    pub url: &'a str,
    /// What the server is for; may be empty.
    pub description: &'a str,
    /// HTTP headers to send, by name.
    pub headers: &'a BTreeMap<String, String>,
    /// Domains of the proven email addresses of users to whom it is offered.
    pub domains: &'a [HostName],
    /// Groups at the identity provider that are offered it, too. Without domains and groups, it is offered to
    /// every user.
    pub groups: &'a [String],
}

/// Error of [`ServerOffer::store`].
#[derive(Debug, thiserror::Error)]
pub enum OfferError {
    /// A part of the offer is invalid.
    #[error("{0}")]
    Invalid(String),
    /// An internal error.
    #[error(transparent)]
    Internal(#[from] anyhow::Error),
}

impl From<storage::Error> for OfferError {
    fn from(error: storage::Error) -> Self {
        Self::Internal(error.into())
    }
}

/// No longer offers the server with a name, deletes all connections of users to it, and stores the audit events. Returns
/// whether it was offered.
///
/// # Errors
///
/// The database fails.
pub async fn withdraw(storage: &Storage, name: &str, audit: &AuditLog) -> Result<bool, storage::Error> {
    let event = |kind| audit.event(None, AuditActor::Admin, kind);
    let events = event(AuditEventKind::SharedServerWithdrawn);
    storage.shared_servers().delete(name, &events, &event(AuditEventKind::ConnectionDeleted)).await
}

impl ServerOffer<'_> {
    /// Validates the offer and stores it, with its secrets sealed. Users' connections to a server of this name stay, and use
    /// the new URL and headers.
    pub async fn store(
        &self,
        storage: &Storage,
        secrets: &SecretSealer,
        now: Timestamp,
        audit: &AuditLog,
    ) -> Result<(), OfferError> {
        let name = validate_name(self.name).map_err(|error| OfferError::Invalid(error.to_string()))?;
        let description = self.description.trim();
        if description.chars().count() > MAX_DESCRIPTION_CHARS {
            return Err(OfferError::Invalid(format!("a description has at most {MAX_DESCRIPTION_CHARS} characters")));
        }
        self.validate_target()?;
        let groups: BTreeSet<String> = self.groups.iter().map(|group| group.trim().to_owned()).collect();
        // No user is in it, so that a mistake in a script would offer the server to nobody.
        if groups.contains("") {
            return Err(OfferError::Invalid("a group has no name".to_owned()));
        }
        let (url, query) = match split_query(self.url.trim()) {
            Some((masked, query)) => (masked, Some(query)),
            None => (self.url.trim().to_owned(), None),
        };
        let present = storage.shared_servers().list().await?.into_iter().find(|server| server.name == name);
        let id = present.map_or_else(SharedServerId::fresh, |server| server.id);
        let owner = SecretOwner::SharedServer(id);
        let domains: BTreeSet<String> = self.domains.iter().map(|domain| domain.as_str().to_owned()).collect();
        let headers = (!self.headers.is_empty()).then(|| headers::seal(secrets, owner, self.headers));
        let query = query.map(|query| url_query::seal(secrets, owner, &url, &query));
        let server = SharedServer {
            id,
            name,
            description: description.to_owned(),
            headers: headers.transpose().map_err(anyhow::Error::from)?,
            url_query: query.transpose().map_err(anyhow::Error::from)?,
            url,
            domains: domains.into_iter().collect(),
            groups: groups.into_iter().collect(),
        };
        let events = audit.event(None, AuditActor::Admin, AuditEventKind::SharedServerOffered);
        Ok(storage.shared_servers().put(&server, now, &events).await?)
    }

    fn validate_target(&self) -> Result<(), OfferError> {
        let invalid = |problem: &str| OfferError::Invalid(problem.to_owned());
        let url = Url::parse(self.url.trim()).map_err(|_| invalid("the URL is not valid"))?;
        if !matches!(url.scheme(), "http" | "https" | "ws" | "wss") || url.host().is_none() {
            return Err(invalid("the URL must begin with http://, https://, ws:// or wss://"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(invalid("the URL must not contain a user name or a password; use a header"));
        }
        if has_masked_values(self.url) {
            return Err(invalid("*** stands for a value that is not shown; enter the URL with all of its values"));
        }
        let mut target = ConnectionTarget::new(url);
        for (name, value) in self.headers {
            let added = target.with_header(name, value);
            target = added.map_err(|error| OfferError::Invalid(format!("the server {error}")))?;
        }
        Ok(())
    }
}

/// A shared server that is offered to the user.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SharedServerDto {
    /// Its id.
    id: SharedServerId,
    /// Name.
    name: String,
    /// What the server is for; may be empty.
    description: String,
    /// URL, with `***` for the values of its query.
    url: String,
    /// The user's connection to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    connection: Option<ServerId>,
}

impl From<OfferedServer> for SharedServerDto {
    fn from(server: OfferedServer) -> Self {
        let (id, connection) = (server.id(), server.connection());
        Self { id, name: server.name, description: server.description, url: server.url, connection }
    }
}

impl ConnectionService {
    /// Returns the shared servers that are offered to a user, by name.
    pub async fn list_shared_servers(&self, user: UserId) -> Result<Vec<SharedServerDto>, storage::Error> {
        let offered = self.storage.shared_servers().list_offered(user).await?;
        Ok(offered.into_iter().map(SharedServerDto::from).collect())
    }

    /// Connects a user to a shared server, once: a second request returns the same connection. Waits until the
    /// server has answered.
    ///
    /// # Errors
    ///
    /// [`UpdateError::NotFound`] if the server is not offered to the user, [`UpdateError::TooMany`] if the user already has
    /// `max_connections`.
    pub async fn connect_shared_server(
        &self,
        user: UserId,
        id: SharedServerId,
        max_connections: Option<u64>,
    ) -> Result<ConnectionDto, UpdateError> {
        let offered = self.storage.shared_servers().list_offered(user).await?;
        let name = offered.into_iter().find(|server| server.id() == id).ok_or(UpdateError::NotFound)?.name;
        let connection = self.insert_connection(user, id, &name, max_connections).await?;
        let server = self.storage.connections().get(user, connection).await?.ok_or(UpdateError::NotFound)?;
        drop(self.pool.open(user, &server).await);
        Ok(self.pool.to_dto(&server))
    }

    /// Stores a connection under the name of its server. If the user has another connection of that name, adds a number.
    async fn insert_connection(
        &self,
        user: UserId,
        id: SharedServerId,
        name: &str,
        max_connections: Option<u64>,
    ) -> Result<ServerId, UpdateError> {
        for number in 1..=MAX_NAMES {
            let name = if number == 1 { name.to_owned() } else { format!("{name} {number}") };
            let events = self.audit.by_user(user, AuditEventKind::ConnectionCreated);
            let (storage, now) = (self.storage.shared_servers(), self.clock.now());
            match storage.connect(user, id, &name, now, max_connections, &events).await {
                Ok(connection) => {
                    return connection.ok_or(UpdateError::TooMany(max_connections.unwrap_or_default()));
                }
                Err(storage::Error::NotFound) => return Err(UpdateError::NotFound),
                // Also if a request at the same time has created the connection, which the next attempt finds.
                Err(storage::Error::Conflict(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(UpdateError::NameTaken(name.to_owned()))
    }
}
