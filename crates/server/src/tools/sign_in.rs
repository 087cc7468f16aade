//! Signing people in to the servers of their connections: begun and ended in the same browser, with the protocol's
//! rules from [`mcp::oauth`].

mod client;
mod credentials;

use std::sync::Arc;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::{Clock, ServerId, UserId};
use mcp::net::GuardedHttp;
use mcp::oauth::{self, CredentialOwner, OAuthClient, PendingSignIn, SignInCallback, SignInError, SignInRequest};
use serde::{Deserialize, Serialize};
use store::Store;
use store::credentials::Authorization;
use store::server_sign_ins::{ServerCredential, provider};
use store::servers::Server;
use url::{Host, Url};

use super::Tools;
use crate::app::App;
use client::EnteredClient;
use credentials::SealedCredentials;
use platform::BackgroundTasks;
use platform::secret_sealing::{SecretSealer, random_bytes};

/// How long a person may take at the authorization server's, in seconds.
pub const LIFETIME: i64 = 600;
/// Where authorization servers send people back to.
const CALLBACK: &str = "/api/connections/callback";
/// Where the product describes itself to authorization servers.
const METADATA: &str = "/oauth/client.json";
/// Ends of names that only a network of one's own knows.
const PRIVATE_NAMES: [&str; 7] = [".localhost", ".local", ".internal", ".test", ".home.arpa", ".invalid", ".lan"];

/// A sign-in that was begun.
#[derive(Debug)]
pub struct Begun {
    /// Where to send the browser.
    pub url: Url,
    /// What the browser has to bring back in a cookie.
    pub browser: String,
}

/// Why a sign-in did not come about.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// Unknown, used or expired state, or another browser than the one in which it was begun.
    #[error("the sign-in was not begun here, or took too long")]
    NotBegunHere,
    /// The protocol, the server, or the person who said no.
    #[error(transparent)]
    SignIn(#[from] SignInError),
    /// A fault of ours.
    #[error(transparent)]
    Internal(#[from] anyhow::Error),
}

impl From<store::Error> for Failure {
    fn from(error: store::Error) -> Self {
        Self::Internal(error.into())
    }
}

/// What waits for the person, as it is sealed.
#[derive(Serialize, Deserialize)]
struct Waiting {
    pending: PendingSignIn,
    browser: String,
}

/// What is needed to sign people in, as `site`.
pub fn start(
    guard: GuardedHttp,
    site: &Url,
    store: &Store,
    secrets: &Arc<SecretSealer>,
    clock: &Arc<dyn Clock>,
    tasks: &BackgroundTasks,
) -> anyhow::Result<OAuthClient> {
    let app = oauth::ClientMetadata {
        name: "AI Chat MCP".to_owned(),
        redirect_uri: site.join(CALLBACK)?,
        metadata_url: is_public(site).then(|| site.join(METADATA)).transpose()?,
    };
    let credentials = SealedCredentials::new(store.clone(), Arc::clone(secrets), Arc::clone(clock), tasks.clone());
    Ok(OAuthClient::new(guard, app, Arc::new(credentials), Arc::clone(clock)))
}

/// Whether authorization servers anywhere can read what stands at this site.
fn is_public(site: &Url) -> bool {
    let Some(Host::Domain(name)) = site.host() else { return false };
    site.scheme() == "https" && name.contains('.') && !PRIVATE_NAMES.iter().any(|end| name.ends_with(end))
}

impl Tools {
    /// Begins a sign-in to the server of a connection. `browser` is what the browser has from a sign-in that still
    /// waits, so that several can wait in one browser.
    pub async fn begin_sign_in(
        &self,
        app: &App,
        user: UserId,
        server: &Server,
        browser: Option<&str>,
    ) -> Result<Begun, Failure> {
        let url = Url::parse(server.url.trim()).map_err(|_| SignInError::NotOffered)?;
        if self.is_own(&url) {
            return Err(SignInError::NotOffered.into());
        }
        let entered = client::load(app, user, server).await?;
        let wish = SignInRequest {
            owner: CredentialOwner { user, server: server.id },
            url,
            challenge: self.pool.challenge(server),
            client: entered.as_ref().map(EnteredClient::client),
        };
        let started = self.oauth.start_sign_in(wish).await?;
        if let Some(entered) = entered {
            let issuer = started.pending.issuer();
            if !entered.is_for(issuer) {
                return Err(SignInError::NeedsClient.into());
            }
            if let Some(bound) = entered.bound_to(issuer) {
                client::save(app, user, server, &bound).await?;
            }
        }
        let browser = match browser.filter(|text| URL_SAFE_NO_PAD.decode(text).is_ok_and(|bytes| bytes.len() == 32)) {
            Some(browser) => browser.to_owned(),
            None => URL_SAFE_NO_PAD.encode(random_bytes::<32>().map_err(anyhow::Error::from)?),
        };
        let waiting = Waiting { pending: started.pending, browser };
        let plain = serde_json::to_vec(&waiting).map_err(anyhow::Error::from)?;
        let now = app.clock.now();
        let authorization = Authorization {
            owner: user,
            secret: app.secrets.seal(&place(&started.state), &plain).map_err(anyhow::Error::from)?,
            expires_at: now.plus_seconds(LIFETIME),
        };
        app.store.insert_authorization(&started.state, &provider(server.id), &authorization, now).await?;
        Ok(Begun { url: started.url, browser: waiting.browser })
    }

    /// Ends a sign-in with what came back: the state is good once, and only in the browser that began it. The server
    /// is asked for its tools after that, in the background.
    pub async fn complete_sign_in(&self, app: &App, browser: &str, answer: SignInCallback) -> Result<(), Failure> {
        let begun = app.store.take_server_sign_in(&answer.state, app.clock.now()).await?;
        let begun = begun.ok_or(Failure::NotBegunHere)?;
        let plain = app.secrets.open(&place(&answer.state), &begun.secret).map_err(anyhow::Error::from)?;
        let Waiting { pending, browser: begun_in } = serde_json::from_slice(&plain).map_err(anyhow::Error::from)?;
        verify_slices_are_equal(begun_in.as_bytes(), browser.as_bytes()).map_err(|_| Failure::NotBegunHere)?;
        let (user, id) = (begun.owner, pending.owner().server);
        let server = app.store.get_server(user, id).await?.ok_or(Failure::NotBegunHere)?;
        let (inner, owner) = (app.clone(), CredentialOwner { user, server: id });
        // The code is good once: a browser that goes away must not cost what it is exchanged for.
        let exchange = async move { inner.tools.oauth.complete_sign_in(owner, pending, answer).await };
        let exchanged = app.tasks.spawn_and_wait("exchange code", exchange).await;
        exchanged.unwrap_or(Err(mcp::Error::Cancelled.into()))?;
        ask_again(app, user, server, true);
        Ok(())
    }

    /// Keeps the client that a person registered at the authorization server by hand.
    pub async fn enter_client(
        &self,
        app: &App,
        user: UserId,
        server: &Server,
        id: String,
        secret: Option<String>,
    ) -> Result<(), Failure> {
        Ok(client::save(app, user, server, &EnteredClient::new(server, id, secret)).await?)
    }

    /// Ends a sign-in: revokes and forgets the tokens, and forgets the client that was entered.
    pub async fn sign_out_of(&self, app: &App, user: UserId, server: &Server) -> Result<(), Failure> {
        let owner = CredentialOwner { user, server: server.id };
        let inner = app.clone();
        let ended = async move { inner.tools.oauth.sign_out(owner).await };
        let ended = app.tasks.spawn_and_wait("sign out of server", ended).await;
        if !ended.unwrap_or(Err(mcp::Error::Cancelled.into()))? {
            tracing::info!("an authorization server did not confirm that tokens were ended");
        }
        app.store.delete_server_client(user, server.id).await?;
        self.pool.signed_out(user, server);
        ask_again(app, user, server.clone(), false);
        Ok(())
    }

    /// Forgets all sign-ins of a person and hands them out, for [`revoke_all`](Self::revoke_all).
    pub async fn take_sign_ins(&self, app: &App, user: UserId) -> Result<Vec<ServerCredential>, store::Error> {
        app.store.take_server_credentials(user).await
    }

    /// Tells authorization servers that sign-ins are over. What they say to that changes nothing here.
    pub async fn revoke_all(&self, app: &App, user: UserId, sealed: Vec<ServerCredential>) {
        let ended = sealed.iter().map(|sealed| async {
            let owner = CredentialOwner { user, server: sealed.server() };
            match credentials::open(&app.secrets, owner, sealed) {
                Ok(credentials) => self.oauth.revoke(&credentials).await.is_ok_and(|confirmed| confirmed),
                Err(_) => false,
            }
        });
        if futures_util::future::join_all(ended).await.contains(&false) {
            tracing::info!("an authorization server did not confirm that tokens were ended");
        }
    }

    /// Ends the sign-ins that belonged to connections which a person has no more.
    pub async fn end_orphaned_sign_ins(&self, app: &App, user: UserId) -> Result<(), store::Error> {
        let sealed = app.store.take_orphaned_server_credentials(user).await?;
        self.revoke_all(app, user, sealed).await;
        Ok(())
    }

    /// Where sign-in servers send people back to.
    pub fn redirect_address(&self) -> &Url {
        &self.oauth.metadata().redirect_uri
    }

    /// The document with which the product describes itself to authorization servers, where they can read it.
    pub fn client_metadata(&self) -> Option<serde_json::Value> {
        let app = self.oauth.metadata();
        app.metadata_url.is_some().then(|| app.to_document())
    }
}

/// The connection of an owner at its server, for requests.
pub fn session(oauth: &OAuthClient, user: UserId, server: ServerId, url: &Url) -> oauth::TokenSource {
    oauth.token_source(CredentialOwner { user, server }, url.clone())
}

/// Asks a server again in the background, lets calls go on that wait for a sign-in, and writes down what it offers now.
fn ask_again(app: &App, user: UserId, server: Server, signed_in: bool) {
    let inner = app.clone();
    app.tasks.spawn("ask server again", async move {
        let asked = async {
            let tools = &inner.tools;
            let view = tools.refresh(&inner, user, &server).await;
            if signed_in {
                tools.sign_ins.tell(user, server.id);
            }
            if view.status == super::ConnectionStatus::Connected {
                let listed = super::view::stored(&view);
                inner.store.set_server_tools(user, server.id, &listed, inner.clock.now()).await?;
            }
            // The connection may have been removed meanwhile.
            tools.reconcile(&inner, user).await
        };
        let asked = tokio::select! {
            () = inner.tasks.shutdown_token().cancelled() => Ok(()),
            asked = asked => asked,
        };
        if let Err(error) = asked {
            tracing::error!(%error, "what a server offers could not be written down");
        }
    });
}

fn place(state: &str) -> String {
    format!("authorizations/secret/{state}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_is_public_when_its_name_is() {
        let public = |site: &str| is_public(&site.parse().unwrap());
        assert!(public("https://chat.example.com"));
        for private in [
            "http://chat.example.com",
            "https://localhost:3000",
            "https://chat",
            "https://chat.local",
            "https://chat.corp.internal",
            "https://192.0.2.1",
            "https://[2001:db8::1]",
        ] {
            assert!(!public(private), "{private}");
        }
    }
}
