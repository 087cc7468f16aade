//! The person's browser: goes where it is sent, and comes back with what it was given.

use std::sync::Arc;

use domain::clock::SystemClock;
use domain::{ServerId, UserId};
use http::header::LOCATION;
use mcp::net::GuardedHttp;
use mcp::oauth::{App, Callback, Challenge, OAuth, Owner, RegisteredClient, Session, SignIn};
use serde_json::{Map, Value};
use url::Url;

use crate::store::Memory;
use crate::{Outcome, setting};

/// Where the suite expects the description of a client that has one.
const METADATA: &str = "https://conformance-test.local/client-metadata.json";
const REDIRECT: &str = "http://localhost:3000/callback";

pub struct Browser {
    guard: GuardedHttp,
    oauth: OAuth,
    owner: Owner,
    server: Url,
    client: Option<RegisteredClient>,
}

impl Browser {
    pub fn new(guard: GuardedHttp, server: Url, client: Option<RegisteredClient>) -> Outcome<Self> {
        let metadata_url = Some(METADATA.parse()?);
        let app = App { name: "AI Chat MCP".to_owned(), redirect_uri: REDIRECT.parse()?, metadata_url };
        let oauth = OAuth::new(guard.clone(), app, Arc::new(Memory::default()), Arc::new(SystemClock));
        let owner = Owner { user: UserId::fresh(), server: ServerId::fresh() };
        Ok(Self { guard, oauth, owner, server, client })
    }

    pub fn session(&self) -> Session {
        self.oauth.session(self.owner, self.server.clone())
    }

    pub async fn sign_in(&self, challenge: Challenge) -> Outcome<()> {
        let challenge = Some(challenge);
        let wish = SignIn { owner: self.owner, url: self.server.clone(), challenge, client: self.client.clone() };
        let for_itself = setting("MCP_CONFORMANCE_SCENARIO").is_some_and(|name| name.contains("client-credentials"));
        if for_itself {
            return Ok(self.oauth.sign_in_as_client(wish).await?);
        }
        let started = self.oauth.start(wish).await?;
        let page = self.guard.client_for(&started.url)?.get(started.url).send().await?;
        let back = page.headers().get(LOCATION).ok_or("the sign-in page leads nowhere")?;
        let back = Url::parse(back.to_str()?)?;
        let query: Map<String, Value> = back.query_pairs().map(|(key, value)| (key.into(), value.into())).collect();
        let answer: Callback = serde_json::from_value(query.into())?;
        Ok(self.oauth.complete(self.owner, started.pending, answer).await?)
    }
}
