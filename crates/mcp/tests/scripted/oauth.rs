//! Signing in, with authorization servers that do exactly what a test says.

mod discovery;
#[path = "../support/memory.rs"]
mod memory;
mod proofs;
mod renewal;
mod round_trip;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use domain::clock::Clock;
use domain::{ServerId, Timestamp, UserId};
use mcp::net::{GuardedHttp, NetworkPolicy};
use mcp::oauth::{
    AuthChallenge, AwaitedSignIn, ClientMetadata, CredentialOwner, OAuthClient, SignInCallback, SignInError,
    SignInRequest,
};
use mcp::{Client, Connection, ConnectionTarget, Error};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::http::{Reply, Seen, Server};
use crate::{modern, tool};
pub use memory::Memory;

/// A clock that a test turns.
#[derive(Debug, Default)]
pub struct Hands(AtomicI64);

impl Hands {
    pub fn turn(&self, seconds: i64) {
        self.0.fetch_add(seconds * 1_000_000, Ordering::Relaxed);
    }
}

impl Clock for Hands {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::Relaxed))
    }
}

/// A person with a connection to a server, which is its own authorization server as well.
pub struct Person {
    pub server: Server,
    pub oauth: OAuthClient,
    pub owner: CredentialOwner,
    pub store: Arc<Memory>,
    pub clock: Arc<Hands>,
}

impl Person {
    /// `script` answers first; what it leaves out is answered as a good server would.
    pub async fn with(script: impl Fn(&Seen) -> Option<Reply> + Send + Sync + 'static) -> Self {
        let server = Server::start(move |seen| script(seen).unwrap_or_else(|| good(seen))).await;
        let (store, clock) = (Arc::new(Memory::default()), Arc::new(Hands::default()));
        let oauth = node(&store, &clock);
        let owner = CredentialOwner { user: UserId::fresh(), server: ServerId::fresh() };
        Self { server, oauth, owner, store, clock }
    }

    pub fn url(&self) -> Url {
        self.server.url("/mcp")
    }

    pub async fn start(&self, challenge: Option<AuthChallenge>) -> Result<AwaitedSignIn, SignInError> {
        self.oauth.start_sign_in(SignInRequest { owner: self.owner, url: self.url(), challenge, client: None }).await
    }

    /// Goes all the way, with consent.
    pub async fn sign_in(&self, challenge: Option<AuthChallenge>) -> Result<(), SignInError> {
        let started = self.start(challenge).await?;
        let answer = consent(&started);
        self.oauth.complete_sign_in(self.owner, started.pending, answer).await
    }

    pub async fn connect(&self) -> Result<Connection, Error> {
        let target =
            ConnectionTarget::new(self.url()).with_token_source(self.oauth.token_source(self.owner, self.url()));
        client().connect(target, &CancellationToken::new()).await
    }

    /// The access token that a request would have.
    pub async fn token(&self) -> Result<Option<String>, Error> {
        let session = self.oauth.token_source(self.owner, self.url());
        Ok(session.token().await?.map(|token| token.expose().to_owned()))
    }

    pub fn asked(&self, path: &str) -> Vec<Seen> {
        self.server.seen().into_iter().filter(|seen| seen.path == path).collect()
    }

    pub fn grants(&self) -> Vec<String> {
        self.asked("/token").iter().map(|seen| seen.field("grant_type").unwrap()).collect()
    }
}

pub fn guard() -> GuardedHttp {
    GuardedHttp::new(NetworkPolicy::new(&[], true, vec![])).unwrap()
}

pub fn client() -> Client {
    Client::new(guard())
}

pub fn node(store: &Arc<Memory>, clock: &Arc<Hands>) -> OAuthClient {
    let redirect_uri = "https://chat.example/callback".parse().unwrap();
    let app = ClientMetadata { name: "Chat".to_owned(), redirect_uri, metadata_url: None };
    OAuthClient::new(guard(), app, store.clone(), clock.clone())
}

/// What comes back when the person agrees.
pub fn consent(started: &AwaitedSignIn) -> SignInCallback {
    SignInCallback { state: started.state.clone(), code: Some("code".to_owned()), ..SignInCallback::default() }
}

pub fn parameter(started: &AwaitedSignIn, name: &str) -> Option<String> {
    started.url.query_pairs().find_map(|(key, value)| (key == name).then(|| value.into_owned()))
}

pub fn metadata(seen: &Seen) -> Value {
    let base = seen.base();
    json!({
        "issuer": base, "authorization_endpoint": format!("{base}/authorize"),
        "token_endpoint": format!("{base}/token"), "registration_endpoint": format!("{base}/register"),
        "revocation_endpoint": format!("{base}/revoke"), "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none"],
    })
}

pub const RESOURCE: &str = "/.well-known/oauth-protected-resource/mcp";
pub const AUTHORITY: &str = "/.well-known/oauth-authorization-server";

/// A server that turns everybody away without a word about why, and an authorization server that grants everything:
/// the first access token is `a-1`, the next `a-2`, and each refresh token is good once.
pub fn good(seen: &Seen) -> Reply {
    let base = seen.base();
    match seen.path.as_str() {
        RESOURCE => Reply::json(200, json!({ "resource": format!("{base}/mcp"), "authorization_servers": [base] })),
        AUTHORITY => Reply::json(200, metadata(seen)),
        "/register" => Reply::json(201, json!({ "client_id": "c-1" })),
        "/token" => {
            let before = seen.field("refresh_token").and_then(|token| token[2..].parse::<u32>().ok()).unwrap_or(0);
            grant(before + 1)
        }
        "/revoke" => Reply::status(200),
        "/mcp" if seen.header("authorization").is_some_and(|header| header.starts_with("Bearer a-")) => {
            modern(seen, &json!({})).unwrap_or_else(|| match seen.rpc() {
                "tools/list" => seen.result(json!({ "resultType": "complete", "tools": [tool("work")] })),
                _ => seen.result(json!({ "resultType": "complete", "content": [] })),
            })
        }
        "/mcp" => Reply::status(401),
        _ => Reply::status(404),
    }
}

/// Tokens that last an hour.
pub fn grant(number: u32) -> Reply {
    Reply::json(
        200,
        json!({ "access_token": format!("a-{number}"), "token_type": "Bearer", "expires_in": 3600,
            "refresh_token": format!("r-{number}") }),
    )
}

pub fn refuse(code: &str) -> Reply {
    Reply::json(400, json!({ "error": code }))
}

pub fn wants(scope: &str) -> AuthChallenge {
    AuthChallenge {
        scope: Some(scope.to_owned()),
        error: Some("insufficient_scope".to_owned()),
        ..AuthChallenge::default()
    }
}
