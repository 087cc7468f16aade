//! The user's browser: opens the sign-in page and returns with the parameters of the callback.

use std::sync::Arc;

use domain::clock::SystemClock;
use domain::{ServerId, UserId};
use http::header::LOCATION;
use mcp::net::GuardedHttp;
use mcp::oauth::{
    AuthChallenge, ClientMetadata, CredentialOwner, OAuthClient, RegisteredClient, SignInCallback, SignInRequest,
    TokenSource,
};
use serde_json::{Map, Value};
use url::Url;

use crate::store::Memory;
use crate::{Outcome, setting};

/// URL of the client metadata document that the suite expects.
const CLIENT_METADATA_URL: &str = "https://conformance-test.local/client-metadata.json";
const REDIRECT_URI: &str = "http://localhost:3000/callback";

pub struct Browser {
    guard: GuardedHttp,
    oauth: OAuthClient,
    owner: CredentialOwner,
    server: Url,
    client: Option<RegisteredClient>,
}

impl Browser {
    pub fn new(guard: GuardedHttp, server: Url, client: Option<RegisteredClient>) -> Outcome<Self> {
        let metadata_url = Some(CLIENT_METADATA_URL.parse()?);
        let app = ClientMetadata { name: "AI Chat MCP".to_owned(), redirect_uri: REDIRECT_URI.parse()?, metadata_url };
        let oauth = OAuthClient::new(guard.clone(), app, Arc::new(Memory::default()), Arc::new(SystemClock));
        let owner = CredentialOwner { user: UserId::fresh(), server: ServerId::fresh() };
        Ok(Self { guard, oauth, owner, server, client })
    }

    pub fn session(&self) -> TokenSource {
        self.oauth.token_source(self.owner, self.server.clone())
    }

    pub async fn sign_in(&self, challenge: AuthChallenge) -> Outcome<()> {
        let challenge = Some(challenge);
        let wish =
            SignInRequest { owner: self.owner, url: self.server.clone(), challenge, client: self.client.clone() };
        // These scenarios have no consent page: their authorization server knows the client credentials grant only.
        let for_itself = setting("MCP_CONFORMANCE_SCENARIO").is_some_and(|name| name.contains("client-credentials"));
        if for_itself {
            return Ok(self.oauth.sign_in_as_client(wish).await?);
        }
        let started = self.oauth.start_sign_in(wish).await?;
        // The suite's consent page consents at once, with a redirect to another origin, which the guarded client does
        // not follow.
        let page = self.guard.client_for(&started.url)?.get(started.url).send().await?;
        let back = page.headers().get(LOCATION).ok_or("the sign-in page leads nowhere")?;
        let back = Url::parse(back.to_str()?)?;
        let query: Map<String, Value> = back.query_pairs().map(|(key, value)| (key.into(), value.into())).collect();
        let answer: SignInCallback = serde_json::from_value(query.into())?;
        Ok(self.oauth.complete_sign_in(self.owner, started.pending, answer).await?)
    }
}
