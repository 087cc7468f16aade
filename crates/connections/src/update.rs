//! Changes of a connection by its owner: name, headers, and which tools are switched on.

use std::collections::BTreeMap;

use domain::text::without_nul;
use domain::{ServerId, UserId};
use mcp::ConnectionTarget;
use platform::SecretSealer;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use storage::audit_events::AuditEventKind;
use storage::servers::{Change, Server};
use url::Url;

use super::{ConnectionDto, ConnectionService, headers};

/// Maximum length of a name, in characters.
const MAX_NAME_CHARS: usize = 200;
/// Maximum number of attempts to store a change. An attempt fails if another request changes the row at the same time.
const MAX_ATTEMPTS: usize = 5;

/// A change of a connection. Absent fields stay unchanged.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ConnectionUpdate {
    /// New name.
    #[schemars(length(max = MAX_NAME_CHARS))]
    pub name: Option<String>,
    /// Headers to set, or with `null` to remove. Their values are never returned.
    pub headers: BTreeMap<String, Option<String>>,
    /// Tools to switch on or off, by name.
    pub tools: BTreeMap<String, bool>,
}

/// Error of [`ConnectionService::update_connection`].
#[derive(Debug, thiserror::Error)]
pub enum UpdateError {
    /// The connection does not exist, or belongs to another user.
    #[error("connection not found")]
    NotFound,
    /// Another connection of the user has the name.
    #[error("you already have a connection named {0}")]
    NameTaken(String),
    /// The user already has this many connections, and may not have more.
    #[error("you can have at most {0} connections; delete one first")]
    TooMany(u64),
    /// The name or a header is invalid.
    #[error("{0}")]
    Invalid(String),
    /// An internal error.
    #[error(transparent)]
    Internal(#[from] anyhow::Error),
}

impl From<storage::Error> for UpdateError {
    fn from(error: storage::Error) -> Self {
        Self::Internal(error.into())
    }
}

/// A connection with the details that lists leave out.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionDetails {
    #[serde(flatten)]
    connection: ConnectionDto,
    /// Instructions of the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<String>,
    /// Names of the headers that are sent to the server.
    headers: Vec<String>,
}

impl ConnectionService {
    /// Returns a connection with its details.
    pub async fn get_details(&self, user: UserId, server: &Server) -> Result<ConnectionDetails, storage::Error> {
        self.pool.load_stored_tools(user, std::slice::from_ref(server)).await?;
        // Those of a shared server concern its operator only.
        let headers = if server.shared.is_some() {
            Vec::new()
        } else {
            headers::open(&self.secrets, user, server).unwrap_or_default()
        };
        Ok(ConnectionDetails {
            connection: self.pool.to_dto(server),
            instructions: self.pool.instructions(server).filter(|text| !text.is_empty()),
            headers: headers.into_iter().map(|(name, _)| name).collect(),
        })
    }

    /// Changes a connection as a whole, and publishes its new state.
    pub async fn update_connection(
        &self,
        user: UserId,
        id: ServerId,
        update: &ConnectionUpdate,
    ) -> Result<ConnectionDto, UpdateError> {
        let name = update.name.as_deref().map(validate_name).transpose()?;
        for _ in 0..MAX_ATTEMPTS {
            let server = self.storage.connections().get(user, id).await?.ok_or(UpdateError::NotFound)?;
            let has_new_headers = !update.headers.is_empty();
            if has_new_headers && server.shared.is_some() {
                return Err(UpdateError::Invalid(
                    "the operator of this site sets the headers of this server".to_owned(),
                ));
            }
            let headers = has_new_headers.then(|| updated_headers(&self.secrets, user, &server, update)).transpose()?;
            // The list of tools is stored only if it is still the one that was read. Otherwise the update finds no row, and
            // is repeated with what the other request has written.
            let change = Change {
                name: name.clone(),
                headers,
                disabled_tools: (!update.tools.is_empty()).then(|| updated_tools(&server, update)),
            };
            let events = if is_recorded(&server, &change) {
                self.audit.by_user(user, AuditEventKind::ConnectionChanged)
            } else {
                Vec::new()
            };
            match self.storage.connections().update(user, id, &change, self.clock.now(), &events).await {
                Ok(()) => {
                    let server = self.storage.connections().get(user, id).await?.ok_or(UpdateError::NotFound)?;
                    self.pool.load_stored_tools(user, std::slice::from_ref(&server)).await?;
                    self.pool.publish(user, &server);
                    if change.headers.is_some() {
                        self.connect_all(user).await?;
                    }
                    return Ok(self.pool.to_dto(&server));
                }
                // Another request has changed the row since it was read.
                Err(storage::Error::NotFound) => {}
                Err(storage::Error::Conflict(_)) => return Err(UpdateError::NameTaken(name.unwrap_or_default())),
                Err(error) => return Err(error.into()),
            }
        }
        Err(UpdateError::NotFound)
    }
}

/// Returns whether a change is more than one of the tools, so that the audit log lists it.
fn is_recorded(server: &Server, change: &Change) -> bool {
    let is_renamed = change.name.as_ref().is_some_and(|name| *name != server.name);
    // Without headers before and after, nothing has changed.
    let has_other_headers = change.headers.as_ref().is_some_and(|new| new.is_some() || server.headers.is_some());
    is_renamed || has_other_headers
}

/// Trims a name and checks its length.
pub(crate) fn validate_name(name: &str) -> Result<String, UpdateError> {
    let name = without_nul(name.trim().to_owned());
    match name.chars().count() {
        0 => Err(UpdateError::Invalid("a connection needs a name".to_owned())),
        length if length > MAX_NAME_CHARS => {
            Err(UpdateError::Invalid(format!("a name has at most {MAX_NAME_CHARS} characters")))
        }
        _ => Ok(name),
    }
}

/// Returns the sealed headers after an update, or `None` if there are none left.
fn updated_headers(
    secrets: &SecretSealer,
    user: UserId,
    server: &Server,
    update: &ConnectionUpdate,
) -> Result<Option<Vec<u8>>, UpdateError> {
    // Headers that can no longer be opened are dropped.
    let kept = headers::open(secrets, user, server).unwrap_or_default();
    // Header names have no case (RFC 9110, 5.1).
    let is_kept = |name: &String| !update.headers.keys().any(|changed| changed.trim().eq_ignore_ascii_case(name));
    let kept = kept.into_iter().filter(|(name, _)| is_kept(name));
    let set = update.headers.iter().filter_map(|(name, value)| Some((name.trim().to_owned(), value.clone()?)));
    let all: BTreeMap<String, String> = kept.chain(set).collect();
    // Any URL will do, because only the headers are validated.
    let url = Url::parse("http://localhost/").map_err(|error| UpdateError::Internal(error.into()))?;
    all.iter().try_fold(ConnectionTarget::new(url), |target, (name, value)| {
        target.with_header(name, value).map_err(|error| UpdateError::Invalid(format!("the server {error}")))
    })?;
    if all.is_empty() {
        return Ok(None);
    }
    let sealed = headers::seal(secrets, user, &all);
    sealed.map(Some).map_err(|error| UpdateError::Internal(error.into()))
}

/// Returns the names of the disabled tools before and after an update.
fn updated_tools(server: &Server, update: &ConnectionUpdate) -> (Vec<String>, Vec<String>) {
    let mut after: Vec<String> =
        server.disabled_tools.iter().filter(|name| update.tools.get(*name) != Some(&true)).cloned().collect();
    for (name, _) in update.tools.iter().filter(|(_, is_on)| !**is_on) {
        if !after.contains(name) {
            after.push(name.clone());
        }
    }
    (server.disabled_tools.clone(), after)
}
