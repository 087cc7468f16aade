//! Clients that people registered at an authorization server by hand, and entered here.

use domain::UserId;
use domain::server_url::mask_query;
use mcp::oauth::{ClientKey, RegisteredClient, SecretString};
use serde::{Deserialize, Serialize};
use store::servers::Server;

use crate::app::App;

/// A client as it is kept: for one address, and from its first use on for one authorization server, so that its secret
/// goes to no other.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct EnteredClient {
    url: String,
    issuer: Option<String>,
    client: RegisteredClient,
}

impl EnteredClient {
    /// A client for the server of this connection.
    pub fn new(server: &Server, id: String, secret: Option<String>) -> Self {
        let key = secret.map_or(ClientKey::None, |secret| ClientKey::Secret(SecretString::new(secret)));
        Self { url: server.url.clone(), issuer: None, client: RegisteredClient { id, key } }
    }

    /// What goes into a sign-in.
    pub fn client(&self) -> RegisteredClient {
        self.client.clone()
    }

    /// Whether it may be used at this authorization server.
    pub fn is_for(&self, issuer: &str) -> bool {
        self.issuer.as_deref().is_none_or(|bound| bound == issuer)
    }

    /// The same, for this authorization server and no other; `None` if it is already.
    pub fn bound_to(&self, issuer: &str) -> Option<Self> {
        self.issuer.is_none().then(|| Self { issuer: Some(issuer.to_owned()), ..self.clone() })
    }
}

/// The client that was entered for a connection, if its address has not changed since.
pub async fn load(app: &App, user: UserId, server: &Server) -> anyhow::Result<Option<EnteredClient>> {
    let Some(sealed) = app.store.get_server_client(user, server.id).await? else { return Ok(None) };
    let plain = app.secrets.open(&place(user, server), &sealed)?;
    let entered: EnteredClient = serde_json::from_slice(&plain)?;
    // Clients that were entered before the queries of URLs were sealed have the whole URL.
    Ok(Some(entered).filter(|entered| mask_query(&entered.url) == server.url))
}

/// Keeps a client.
pub async fn save(app: &App, user: UserId, server: &Server, entered: &EnteredClient) -> anyhow::Result<()> {
    let sealed = app.secrets.seal(&place(user, server), &serde_json::to_vec(entered)?)?;
    Ok(app.store.set_server_client(user, server.id, &sealed).await?)
}

fn place(user: UserId, server: &Server) -> String {
    format!("server_clients/secret/{user}/{}", server.id)
}
