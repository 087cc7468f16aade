//! OAuth clients that users have registered at an authorization server and entered here.

use domain::UserId;
use domain::server_url::mask_query;
use mcp::oauth::{ClientKey, RegisteredClient, SecretString};
use serde::{Deserialize, Serialize};
use storage::audit_events::NewAuditEvent;
use storage::servers::Server;

use crate::ConnectionService;

/// A client as it is stored: for one URL, and from its first use on for one authorization server, so that its secret is
/// sent to no other.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct EnteredClient {
    url: String,
    issuer: Option<String>,
    client: RegisteredClient,
}

impl EnteredClient {
    /// Creates a client for the server of a connection.
    pub fn new(server: &Server, id: String, secret: Option<String>) -> Self {
        let key = secret.map_or(ClientKey::None, |secret| ClientKey::Secret(SecretString::new(secret)));
        Self { url: server.url.clone(), issuer: None, client: RegisteredClient { id, key } }
    }

    /// Returns the client for a sign-in.
    pub fn client(&self) -> RegisteredClient {
        self.client.clone()
    }

    /// Returns whether the client may be used at an authorization server.
    pub fn is_for(&self, issuer: &str) -> bool {
        self.issuer.as_deref().is_none_or(|bound| bound == issuer)
    }

    /// Returns the client bound to an authorization server, or `None` if it is bound already.
    pub fn bound_to(&self, issuer: &str) -> Option<Self> {
        // On first use, not when the user enters it: which authorization server it is for is known only after
        // discovery.
        self.issuer.is_none().then(|| Self { issuer: Some(issuer.to_owned()), ..self.clone() })
    }
}

impl ConnectionService {
    /// Loads the client of a connection, unless the URL has changed since it was entered.
    pub(super) async fn load_client(&self, user: UserId, server: &Server) -> anyhow::Result<Option<EnteredClient>> {
        let Some(sealed) = self.storage.server_sign_ins().get_client(user, server.id).await? else { return Ok(None) };
        let plain = self.secrets.open(&seal_context(user, server), &sealed)?;
        let entered: EnteredClient = serde_json::from_slice(&plain)?;
        // Earlier versions stored the whole URL, with its query.
        Ok(Some(entered).filter(|entered| mask_query(&entered.url) == server.url))
    }

    /// Stores the client of a connection, and audit events with it.
    pub(super) async fn save_client(
        &self,
        user: UserId,
        server: &Server,
        entered: &EnteredClient,
        events: &[NewAuditEvent],
    ) -> anyhow::Result<()> {
        let sealed = self.secrets.seal(&seal_context(user, server), &serde_json::to_vec(entered)?)?;
        Ok(self.storage.server_sign_ins().set_client(user, server.id, &sealed, events).await?)
    }
}

/// Returns the context that a sealed client is bound to.
fn seal_context(user: UserId, server: &Server) -> String {
    format!("server_clients/secret/{user}/{}", server.id)
}
