//! Sign-in to the servers of connections with OAuth. A sign-in begins and ends in the same browser; the protocol is in
//! [`mcp::oauth`].

mod entered_client;
mod sealed_credentials;

use std::sync::Arc;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::{Clock, ServerId, UserId};
use futures_util::future::join_all;
use mcp::net::GuardedHttp;
use mcp::oauth::{self, CredentialOwner, OAuthClient, PendingSignIn, SignInCallback, SignInError, SignInRequest};
use platform::BackgroundTasks;
use platform::secret_sealing::{SecretSealer, random_bytes};
use serde::{Deserialize, Serialize};
use storage::Storage;
use storage::audit_events::AuditEventKind;
use storage::credentials::Authorization;
use storage::server_sign_ins::{ServerCredential, provider};
use storage::servers::Server;
use url::{Host, Url};

use super::{ConnectionService, ConnectionStatus};
use entered_client::EnteredClient;
use sealed_credentials::SealedCredentials;

/// Maximum time that a sign-in may take, in seconds.
pub const SIGN_IN_LIFETIME_SECONDS: i64 = 600;
/// Path to which authorization servers redirect the browser.
const CALLBACK_PATH: &str = "/api/connections/callback";
/// Path of the client metadata document.
const METADATA_PATH: &str = "/oauth/client.json";
/// Suffixes of host names that are not public.
const PRIVATE_SUFFIXES: [&str; 7] = [".localhost", ".local", ".internal", ".test", ".home.arpa", ".invalid", ".lan"];

/// A sign-in that was started.
#[derive(Debug)]
pub struct StartedSignIn {
    /// Page of the authorization server.
    pub url: Url,
    /// Secret that the browser must present in a cookie to complete the sign-in.
    pub browser_secret: String,
}

/// Error of a sign-in to the server of a connection.
#[derive(Debug, thiserror::Error)]
pub enum ServerSignInError {
    /// The state is unknown, used or expired, or the browser is not the one that started the sign-in.
    #[error("the sign-in was started in another browser, or has expired")]
    NotStartedHere,
    /// The authorization server or the user rejected it.
    #[error(transparent)]
    SignIn(#[from] SignInError),
    /// An internal error.
    #[error(transparent)]
    Internal(#[from] anyhow::Error),
}

impl From<storage::Error> for ServerSignInError {
    fn from(error: storage::Error) -> Self {
        Self::Internal(error.into())
    }
}

/// A pending sign-in, as it is sealed.
#[derive(Serialize, Deserialize)]
struct StoredSignIn {
    pending: PendingSignIn,
    browser: String,
}

/// Creates the OAuth client of an installation with the public origin `site`.
pub(crate) fn oauth_client(
    guard: GuardedHttp,
    site: &Url,
    storage: &Storage,
    secrets: &Arc<SecretSealer>,
    clock: &Arc<dyn Clock>,
    tasks: &BackgroundTasks,
) -> anyhow::Result<OAuthClient> {
    let metadata = oauth::ClientMetadata {
        name: "AI Chat MCP".to_owned(),
        redirect_uri: site.join(CALLBACK_PATH)?,
        metadata_url: is_public(site).then(|| site.join(METADATA_PATH)).transpose()?,
    };
    let credentials = SealedCredentials::new(storage.clone(), Arc::clone(secrets), Arc::clone(clock), tasks.clone());
    Ok(OAuthClient::new(guard, metadata, Arc::new(credentials), Arc::clone(clock)))
}

/// Returns the source of tokens for requests to the server of a connection.
pub(crate) fn token_source(oauth: &OAuthClient, user: UserId, server: ServerId, url: &Url) -> oauth::TokenSource {
    oauth.token_source(CredentialOwner { user, server }, url.clone())
}

/// Returns whether authorization servers on the internet can read documents of this site.
fn is_public(site: &Url) -> bool {
    let Some(Host::Domain(name)) = site.host() else { return false };
    site.scheme() == "https" && name.contains('.') && !PRIVATE_SUFFIXES.iter().any(|suffix| name.ends_with(suffix))
}

impl ConnectionService {
    /// Starts a sign-in to the server of a connection. `browser` is the secret of a pending sign-in of the same browser,
    /// which is reused, so that several can be pending.
    pub async fn start_sign_in(
        &self,
        user: UserId,
        server: &Server,
        browser: Option<&str>,
    ) -> Result<StartedSignIn, ServerSignInError> {
        let url = Url::parse(server.url.trim()).map_err(|_| SignInError::NotOffered)?;
        if self.self_urls.contains(&url) {
            return Err(SignInError::NotOffered.into());
        }
        let entered = self.load_client(user, server).await?;
        let request = SignInRequest {
            owner: CredentialOwner { user, server: server.id },
            url,
            challenge: self.pool.challenge(server),
            client: entered.as_ref().map(EnteredClient::client),
        };
        let started = self.oauth.start_sign_in(request).await?;
        if let Some(entered) = entered {
            let issuer = started.pending.issuer();
            // The MCP server names its authorization server. If it names another one than before, the user's secret
            // stays here.
            if !entered.is_for(issuer) {
                return Err(SignInError::NeedsClient.into());
            }
            // Bound before the browser leaves, so that also an abandoned sign-in fixes where the secret may be sent.
            if let Some(bound) = entered.bound_to(issuer) {
                self.save_client(user, server, &bound, &[]).await?;
            }
        }
        // The browser sends it back, so it may be anything. Only what this server could have made is used again.
        let is_secret = |text: &&str| URL_SAFE_NO_PAD.decode(text).is_ok_and(|bytes| bytes.len() == 32);
        let browser = match browser.filter(is_secret) {
            Some(browser) => browser.to_owned(),
            None => URL_SAFE_NO_PAD.encode(random_bytes::<32>().map_err(anyhow::Error::from)?),
        };
        let stored = StoredSignIn { pending: started.pending, browser };
        let plain = serde_json::to_vec(&stored).map_err(anyhow::Error::from)?;
        let now = self.clock.now();
        let authorization = Authorization {
            owner: user,
            secret: self.secrets.seal(&seal_context(&started.state), &plain).map_err(anyhow::Error::from)?,
            expires_at: now.plus_seconds(SIGN_IN_LIFETIME_SECONDS),
        };
        self.storage
            .credentials()
            .insert_authorization(&started.state, &provider(server.id), &authorization, now)
            .await?;
        Ok(StartedSignIn { url: started.url, browser_secret: stored.browser })
    }

    /// Completes a sign-in with the parameters of the authorization server's redirect. The state is valid once, and in
    /// the browser that started the sign-in only. Then the server is connected again in the background.
    pub async fn complete_sign_in(&self, browser: &str, callback: SignInCallback) -> Result<(), ServerSignInError> {
        // Deleted before anything is checked: a state can be tried once, also by the wrong browser.
        let taken = self.storage.server_sign_ins().take(&callback.state, self.clock.now()).await?;
        let taken = taken.ok_or(ServerSignInError::NotStartedHere)?;
        let context = seal_context(&callback.state);
        let plain = self.secrets.open(&context, &taken.secret).map_err(anyhow::Error::from)?;
        let stored: StoredSignIn = serde_json::from_slice(&plain).map_err(anyhow::Error::from)?;
        // A victim who is sent another's callback would sign in to the other's account (RFC 9700, 4.7). In constant
        // time, because it is a secret.
        verify_slices_are_equal(stored.browser.as_bytes(), browser.as_bytes())
            .map_err(|_| ServerSignInError::NotStartedHere)?;
        let (user, id) = (taken.owner, stored.pending.owner().server);
        // The connection may have been removed while the user was at the authorization server.
        let server = self.storage.connections().get(user, id).await?.ok_or(ServerSignInError::NotStartedHere)?;
        let (oauth, owner) = (self.oauth.clone(), CredentialOwner { user, server: id });
        // In a task of its own: the code is valid once, so a browser that disconnects must not lose the tokens.
        let (storage, events) = (self.storage.clone(), self.audit.by_user(user, AuditEventKind::ServerSignedIn));
        let exchange = async move {
            oauth.complete_sign_in(owner, stored.pending, callback).await?;
            Ok(storage.audit_events().insert(&events).await?)
        };
        let exchanged = self.tasks.spawn_and_wait("exchange code", exchange).await;
        exchanged.unwrap_or_else(|| Err(ServerSignInError::SignIn(mcp::Error::Cancelled.into())))?;
        self.reconnect_in_background(user, server, true);
        Ok(())
    }

    /// Stores an OAuth client that the user has registered at the authorization server.
    pub async fn set_client(
        &self,
        user: UserId,
        server: &Server,
        id: String,
        secret: Option<String>,
    ) -> Result<(), ServerSignInError> {
        let events = self.audit.by_user(user, AuditEventKind::ConnectionChanged);
        Ok(self.save_client(user, server, &EnteredClient::new(server, id, secret), &events).await?)
    }

    /// Signs out of a server: revokes and deletes the tokens, and deletes the client that the user has entered.
    pub async fn sign_out_of_server(&self, user: UserId, server: &Server) -> Result<(), ServerSignInError> {
        let (oauth, owner) = (self.oauth.clone(), CredentialOwner { user, server: server.id });
        let (storage, mut events) = (self.storage.clone(), self.audit.by_user(user, AuditEventKind::ServerSignedOut));
        let sign_out = async move {
            let sign_ins = storage.server_sign_ins();
            if sign_ins.list_credentials(user, owner.server).await?.is_empty() {
                events.clear();
            }
            let confirmed = oauth.sign_out(owner).await?;
            sign_ins.delete_client(user, owner.server, &events).await?;
            Ok(confirmed)
        };
        let revoked = self.tasks.spawn_and_wait("sign out of server", sign_out).await;
        if !revoked.unwrap_or_else(|| Err(ServerSignInError::SignIn(mcp::Error::Cancelled.into())))? {
            tracing::info!("an authorization server did not confirm a revocation");
        }
        self.pool.mark_signed_out(user, server);
        self.reconnect_in_background(user, server.clone(), false);
        Ok(())
    }

    /// Deletes all sign-ins of a user and returns them sealed, for [`revoke_sign_ins`](Self::revoke_sign_ins).
    pub async fn take_sign_ins(&self, user: UserId) -> Result<Vec<ServerCredential>, storage::Error> {
        self.storage.server_sign_ins().take_credentials(user).await
    }

    /// Revokes sign-ins at their authorization servers. A failure is logged only, because the sign-ins are deleted here.
    pub async fn revoke_sign_ins(&self, user: UserId, sealed: Vec<ServerCredential>) {
        let revocations = sealed.iter().map(|sealed| async {
            let owner = CredentialOwner { user, server: sealed.server() };
            match sealed_credentials::open(&self.secrets, owner, sealed) {
                Ok(credentials) => self.oauth.revoke(&credentials).await.is_ok_and(|confirmed| confirmed),
                Err(_) => false,
            }
        });
        if join_all(revocations).await.contains(&false) {
            tracing::info!("an authorization server did not confirm a revocation");
        }
    }

    /// Ends the sign-ins of connections that a user has removed.
    pub(crate) async fn end_orphaned_sign_ins(&self, user: UserId) -> Result<(), storage::Error> {
        let sealed = self.storage.server_sign_ins().take_orphaned_credentials(user).await?;
        self.revoke_sign_ins(user, sealed).await;
        Ok(())
    }

    /// Returns the redirect URI of this installation, which users need to register a client.
    pub fn redirect_uri(&self) -> &Url {
        &self.oauth.metadata().redirect_uri
    }

    /// Returns the client metadata document, if authorization servers can read it.
    pub fn client_metadata(&self) -> Option<serde_json::Value> {
        let metadata = self.oauth.metadata();
        metadata.metadata_url.is_some().then(|| metadata.to_document())
    }

    /// Connects to a server again in the background, after a sign-in or a sign-out. After a sign-in, continues the calls
    /// that wait for it. Stores the tools that the server has now.
    fn reconnect_in_background(&self, user: UserId, server: Server, has_signed_in: bool) {
        let service = self.clone();
        self.tasks.spawn("reconnect", async move {
            let reconnect = async {
                let connection = service.reconnect(user, &server).await;
                // Published after the connection is open again, so that a call that waits for the sign-in finds it.
                if has_signed_in {
                    service.completed_sign_ins.publish(user, server.id);
                }
                if connection.status == ConnectionStatus::Connected {
                    let tools = connection.tools_to_store();
                    service.storage.connections().set_tools(user, server.id, &tools, service.clock.now()).await?;
                }
                // The connection may have been removed meanwhile.
                service.reconcile(user).await
            };
            let reconnected = tokio::select! {
                () = service.tasks.shutdown_token().cancelled() => Ok(()),
                reconnected = reconnect => reconnected,
            };
            if let Err(error) = reconnected {
                tracing::error!(%error, "could not store the tools of a server after a sign-in");
            }
        });
    }
}

/// Returns the context that a pending sign-in is bound to.
fn seal_context(state: &str) -> String {
    format!("authorizations/secret/{state}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn site_with_public_name_is_public() {
        let is_public = |site: &str| is_public(&site.parse().unwrap());
        assert!(is_public("https://chat.example.com"));
        for private in [
            "http://chat.example.com",
            "https://localhost:3000",
            "https://chat",
            "https://chat.local",
            "https://chat.corp.internal",
            "https://192.0.2.1",
            "https://[2001:db8::1]",
        ] {
            assert!(!is_public(private), "{private}");
        }
    }
}
