//! A browser that signs in at the scripted provider: it keeps the cookie and follows redirects step by step.

use std::collections::HashMap;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::Timestamp;
use reqwest::header::{COOKIE, LOCATION, SET_COOKIE};
use serde_json::json;
use testkit::{Builder, Database, MockClock, TestApp};
use url::{Url, form_urlencoded};

use super::provider::{CLIENT_ID, CLIENT_SECRET, ScriptedProvider};
use crate::auth::caller::{Answer, post};

pub const VERIFIER: &str = "a-verifier-that-only-the-client-of-this-test-knows";

/// A server with a provider, and their clock.
pub struct Site {
    pub app: TestApp,
    pub provider: ScriptedProvider,
    pub clock: Arc<MockClock>,
}

impl Site {
    pub async fn start(database: Database) -> Self {
        Self::start_with(TestApp::builder().database(database)).await
    }

    /// Starts a server with the settings of `builder` and the provider.
    pub async fn start_with(builder: Builder) -> Self {
        let (provider, clock) = (ScriptedProvider::start().await, MockClock::new());
        let app = builder
            .clock(&clock)
            .set("CHAT_OIDC_ISSUER", &*provider.issuer)
            .set("CHAT_OIDC_CLIENT_ID", CLIENT_ID)
            .set("CHAT_OIDC_CLIENT_SECRET", CLIENT_SECRET)
            .set("CHAT_OIDC_NAME", "Example Corp")
            .start()
            .await;
        let site = Self { app, provider, clock };
        site.advance(0);
        site
    }

    /// Moves the clock of both.
    pub fn advance(&self, seconds: i64) {
        self.clock.advance_seconds(seconds);
        self.provider.script().now = self.app.state.clock.now().as_seconds();
    }

    /// Returns the origin at which browsers see the server.
    pub fn origin(&self) -> String {
        self.app.state.site_url.0.as_str().trim_end_matches('/').to_owned()
    }

    /// Signs in with PKCE in a new browser and returns the session or error of the token endpoint.
    pub async fn sign_in(&self) -> Answer {
        let end = Browser::new(self).sign_in("").await;
        let code = end.query.get("code").unwrap_or_else(|| panic!("{end:?}")).clone();
        self.exchange(&code).await
    }

    pub async fn exchange(&self, code: &str) -> Answer {
        post(&self.app, "/token?grant_type=pkce", &json!({ "auth_code": code, "code_verifier": VERIFIER })).await
    }

    /// Returns the number of failed sign-ins of no account in the audit log.
    pub async fn failed_sign_ins(&self) -> usize {
        let events = self.app.state.storage.audit_events().list(None, Timestamp(0), None, 100).await.unwrap();
        let failed = events.iter().filter(|event| event.kind == "sign_in_failed" && event.user.is_none());
        failed.filter(|event| event.client_address.as_deref() == Some("127.0.0.1")).count()
    }

    /// Signs in and returns the error of the redirect.
    pub async fn refusal(&self) -> String {
        let end = Browser::new(self).sign_in("").await;
        assert!(!end.query.contains_key("code") && !end.fragment.contains_key("access_token"), "{end:?}");
        end.query.get("error_code").unwrap_or_else(|| panic!("{end:?}")).clone()
    }
}

/// The end of a sign-in: the address at which the browser arrives.
#[derive(Debug)]
pub struct End {
    pub url: Url,
    pub query: HashMap<String, String>,
    pub fragment: HashMap<String, String>,
}

pub struct Browser<'a> {
    site: &'a Site,
    http: reqwest::Client,
    pub cookie: Option<String>,
}

impl<'a> Browser<'a> {
    #[expect(clippy::disallowed_methods, reason = "tests talk to loopback only")]
    pub fn new(site: &'a Site) -> Self {
        let http = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build().unwrap();
        Self { site, http, cookie: None }
    }

    /// Follows one redirect. The site's own addresses lead to the server, whatever its public name is.
    async fn follow(&mut self, url: &str) -> String {
        let local = url.replace(&self.site.origin(), &self.site.app.url);
        let mut request = self.http.get(&local);
        if let Some(cookie) = self.cookie.as_ref().filter(|_| local.starts_with(&self.site.app.url)) {
            request = request.header(COOKIE, format!("other=1; provider-sign-in={cookie}"));
        }
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status(), response.headers().clone());
        let Some(location) = headers.get(LOCATION) else {
            panic!("{url}: {status} {}", response.text().await.unwrap());
        };
        if let Some(cookie) = headers.get(SET_COOKIE) {
            let cookie = cookie.to_str().unwrap();
            assert!(cookie.contains("; HttpOnly; SameSite=Lax"), "{cookie}");
            let value = cookie.split(';').next().unwrap().strip_prefix("provider-sign-in=").unwrap();
            self.cookie = Some(value.to_owned()).filter(|value| !value.is_empty());
        }
        location.to_str().unwrap().to_owned()
    }

    /// Begins a sign-in of a client that uses PKCE, and returns the address of the provider's page.
    pub async fn begin(&mut self, more: &str) -> String {
        let challenge = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, VERIFIER.as_bytes());
        let challenge = URL_SAFE_NO_PAD.encode(challenge);
        self.begin_with(&format!("&code_challenge={challenge}&code_challenge_method=s256{more}")).await
    }

    /// Begins to link an identity to the account of a session, as the official client does, and returns the address of the
    /// provider's page.
    pub async fn begin_link(&mut self, token: &str) -> Result<String, Answer> {
        let challenge = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, VERIFIER.as_bytes());
        let challenge = URL_SAFE_NO_PAD.encode(challenge);
        let query = format!("code_challenge={challenge}&code_challenge_method=s256&skip_http_redirect=true");
        let url = format!("{}/auth/v1/user/identities/authorize?provider=oidc&{query}", self.site.app.url);
        let response = self.http.get(url).bearer_auth(token).send().await.unwrap();
        if let Some(cookie) = response.headers().get(SET_COOKIE) {
            let value = cookie.to_str().unwrap().split(';').next().unwrap();
            self.cookie = value.strip_prefix("provider-sign-in=").map(str::to_owned);
        }
        let (status, body) = (response.status().as_u16(), response.json().await.unwrap_or_default());
        let answer = Answer { status, body };
        if status == 200 { Ok(answer.text("/url")) } else { Err(answer) }
    }

    /// Begins a sign-in with parameters of the client.
    pub async fn begin_with(&mut self, parameters: &str) -> String {
        let url = format!("{}/auth/v1/authorize?provider=oidc{parameters}", self.site.app.url);
        self.follow(&url).await
    }

    /// Signs in at the provider, and returns the address that leads back.
    pub async fn consent(&mut self, page: &str) -> String {
        self.follow(page).await
    }

    /// Follows the address that leads back.
    pub async fn arrive(&mut self, callback: &str) -> End {
        let url = Url::parse(&self.follow(callback).await).unwrap();
        let parse = |text: Option<&str>| {
            form_urlencoded::parse(text.unwrap_or_default().as_bytes()).into_owned().collect::<HashMap<_, _>>()
        };
        End { query: parse(url.query()), fragment: parse(url.fragment()), url }
    }

    /// Signs in from the begin to the end.
    pub async fn sign_in(&mut self, more: &str) -> End {
        let page = self.begin(more).await;
        let callback = self.consent(&page).await;
        self.arrive(&callback).await
    }
}
