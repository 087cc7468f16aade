//! What a person changes about one of their connections: its name, what is sent along, which tools are switched on.

use std::collections::BTreeMap;

use domain::text::without_nul;
use domain::{ServerId, UserId};
use mcp::ConnectionTarget;
use serde::{Deserialize, Serialize};
use store::servers::{Change, Server};
use url::Url;

use super::{ConnectionView, Tools, headers};
use crate::app::App;

/// The longest name of a connection, in characters.
const NAME: usize = 200;
/// How often a change is made anew because another tab was faster.
const TRIES: usize = 5;

/// What to change. What is not named stays as it is.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Edit {
    /// The new name.
    pub name: Option<String>,
    /// Headers to set, or with `null` to remove. They are written and never read back.
    pub headers: BTreeMap<String, Option<String>>,
    /// Tools to switch on or off, by name.
    pub tools: BTreeMap<String, bool>,
}

/// Why something cannot be changed.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// There is no such connection, or it is somebody else's.
    #[error("connection not found")]
    NotFound,
    /// Another connection of the person has the name.
    #[error("you already have a connection named {0}")]
    NameTaken(String),
    /// The name or a header is not one.
    #[error("{0}")]
    Bad(String),
    /// A fault of ours.
    #[error(transparent)]
    Internal(#[from] anyhow::Error),
}

impl From<store::Error> for EditError {
    fn from(error: store::Error) -> Self {
        Self::Internal(error.into())
    }
}

/// A connection with what only its own view shows.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionDetails {
    #[serde(flatten)]
    connection: ConnectionView,
    /// How the server wants to be used, in its own words.
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<String>,
    /// The names of the headers that are sent to it.
    headers: Vec<String>,
}

impl Tools {
    /// Everything that is known of a connection.
    pub async fn details(&self, app: &App, user: UserId, server: &Server) -> Result<ConnectionDetails, store::Error> {
        self.pool.recall(app, user, std::slice::from_ref(server)).await?;
        let headers = headers::open(&app.secrets, user, server.headers.as_deref()).unwrap_or_default();
        Ok(ConnectionDetails {
            connection: self.pool.view(server, self),
            instructions: self.pool.instructions(server).filter(|text| !text.is_empty()),
            headers: headers.into_iter().map(|(name, _)| name).collect(),
        })
    }

    /// Changes a connection, all of it or nothing, and tells the person's pages.
    pub async fn edit(&self, app: &App, user: UserId, id: ServerId, edit: &Edit) -> Result<ConnectionView, EditError> {
        let name = edit.name.as_deref().map(checked_name).transpose()?;
        for _ in 0..TRIES {
            let server = app.store.get_server(user, id).await?.ok_or(EditError::NotFound)?;
            let change = Change {
                name: name.clone(),
                headers: (!edit.headers.is_empty()).then(|| changed_headers(app, user, &server, edit)).transpose()?,
                disabled_tools: (!edit.tools.is_empty()).then(|| changed_tools(&server, edit)),
            };
            match app.store.update_server(user, id, &change, app.clock.now()).await {
                Ok(()) => {
                    let server = app.store.get_server(user, id).await?.ok_or(EditError::NotFound)?;
                    self.pool.recall(app, user, std::slice::from_ref(&server)).await?;
                    self.pool.tell(app, user, &server);
                    if change.headers.is_some() {
                        self.wake(app, user).await?;
                    }
                    return Ok(self.pool.view(&server, self));
                }
                Err(store::Error::NotFound) => {}
                Err(store::Error::Conflict(_)) => return Err(EditError::NameTaken(name.unwrap_or_default())),
                Err(error) => return Err(error.into()),
            }
        }
        Err(EditError::NotFound)
    }
}

fn checked_name(name: &str) -> Result<String, EditError> {
    let name = without_nul(name.trim().to_owned());
    match name.chars().count() {
        0 => Err(EditError::Bad("a connection needs a name".to_owned())),
        length if length > NAME => Err(EditError::Bad(format!("a name has at most {NAME} characters"))),
        _ => Ok(name),
    }
}

fn changed_headers(app: &App, user: UserId, server: &Server, edit: &Edit) -> Result<Option<Vec<u8>>, EditError> {
    // Those that cannot be opened any more are of no use to anybody.
    let kept = headers::open(&app.secrets, user, server.headers.as_deref()).unwrap_or_default();
    let is_kept = |name: &String| !edit.headers.keys().any(|changed| changed.trim().eq_ignore_ascii_case(name));
    let kept = kept.into_iter().filter(|(name, _)| is_kept(name));
    let set = edit.headers.iter().filter_map(|(name, value)| Some((name.trim().to_owned(), value.clone()?)));
    let all: BTreeMap<String, String> = kept.chain(set).collect();
    let address = Url::parse("http://localhost/").map_err(|error| EditError::Internal(error.into()))?;
    all.iter().try_fold(ConnectionTarget::new(address), |target, (name, value)| {
        target.with_header(name, value).map_err(|error| EditError::Bad(format!("the server {error}")))
    })?;
    if all.is_empty() {
        return Ok(None);
    }
    let sealed = headers::seal(&app.secrets, user, &all);
    sealed.map(Some).map_err(|error| EditError::Internal(error.into()))
}

/// The names that are switched off, before and after.
fn changed_tools(server: &Server, edit: &Edit) -> (Vec<String>, Vec<String>) {
    let mut after: Vec<String> =
        server.disabled_tools.iter().filter(|name| edit.tools.get(*name) != Some(&true)).cloned().collect();
    for (name, _) in edit.tools.iter().filter(|(_, is_on)| !**is_on) {
        if !after.contains(name) {
            after.push(name.clone());
        }
    }
    (server.disabled_tools.clone(), after)
}
