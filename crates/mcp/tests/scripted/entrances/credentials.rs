//! What a person entrusts to one server is shown to no other, also to none that may be reached.

use mcp::oauth::{SignInCallback, SignInRequest};
use mcp::{CallOptions, Client, ConnectionLimits, ConnectionTarget};
use serde_json::{Map, json};
use tokio_util::sync::CancellationToken;

use crate::http::{Reply, Seen, Server};
use crate::oauth::Person;
use crate::{client, legacy, modern, tool};

const SECRETS: [&str; 2] = ["s3cret-key", "a-1"];

/// Everything that came, as it came.
fn is_told_a_secret(server: &Server) -> bool {
    server.seen().iter().any(|seen| {
        let headers = seen.headers.iter().map(|(_, value)| value.as_str());
        headers.chain([seen.path.as_str(), &seen.text]).any(|text| SECRETS.iter().any(|secret| text.contains(secret)))
    })
}

/// A server that writes down who comes, and lets nobody in.
async fn other() -> Server {
    Server::start(|_| Reply::json(200, json!({}))).await
}

/// Connects with everything a person can entrust: a header of their own and a token.
async fn connect(person: &Person, path: &str) -> Result<mcp::Connection, mcp::Error> {
    let target = ConnectionTarget::new(person.server.url(path)).with_header("x-api-key", SECRETS[0]).unwrap();
    let target = target.with_token_source(person.oauth.token_source(person.owner, person.server.url(path)));
    client(ConnectionLimits::default()).connect(target, &CancellationToken::new()).await
}

#[tokio::test]
async fn a_redirect_to_another_server_is_not_followed() {
    for status in [301, 302, 303, 307, 308] {
        let other = other().await;
        let elsewhere = other.url("/mcp").to_string();
        let person = Person::with(move |seen| {
            let is_in = seen.header("x-api-key").is_some();
            is_in.then(|| Reply::status(status).with("location", elsewhere.clone()))
        })
        .await;
        person.sign_in(None).await.unwrap();
        assert_eq!(connect(&person, "/mcp").await.unwrap_err().kind(), "redirected", "{status}");
        assert!(is_told_a_secret(&person.server), "it was shown to its own server");
        assert!(other.seen().is_empty(), "{status}");
    }
}

#[tokio::test]
async fn an_endpoint_on_another_server_gets_nothing() {
    let other = other().await;
    let endpoint = format!("event: endpoint\ndata: {}\n\n", other.url("/messages"));
    let person = Person::with(move |seen| match (seen.method.as_str(), seen.header("x-api-key")) {
        ("GET", Some(_)) => Some(Reply::new(200, "text/event-stream", endpoint.clone())),
        ("POST", Some(_)) => Some(Reply::status(405)),
        _ => None,
    })
    .await;
    person.sign_in(None).await.unwrap();
    let refused = connect(&person, "/mcp").await.unwrap_err();
    assert_eq!(refused.to_string(), "violated the protocol: its endpoint is on another server");
    assert!(is_told_a_secret(&person.server) && other.seen().is_empty());
}

#[tokio::test]
async fn an_address_that_was_edited_gets_no_token() {
    let (other, person) = (other().await, Person::with(|_| None).await);
    person.sign_in(None).await.unwrap();
    person.connect().await.unwrap();
    for scheme in ["http", "ws"] {
        let mut url = other.url("/mcp");
        url.set_scheme(scheme).unwrap();
        let target = ConnectionTarget::new(url.clone()).with_token_source(person.oauth.token_source(person.owner, url));
        Client::new(crate::oauth::guard()).connect(target, &CancellationToken::new()).await.unwrap_err();
    }
    assert!(!other.seen().is_empty() && !is_told_a_secret(&other));
}

#[tokio::test]
async fn a_sign_in_server_that_moved_gets_no_refresh_token_of_the_old_one() {
    let other = other().await;
    let new = other.url("/token").to_string();
    let moved = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let has_moved = moved.clone();
    let person = Person::with(move |seen| {
        (seen.path == crate::oauth::AUTHORITY && has_moved.load(std::sync::atomic::Ordering::Relaxed)).then(|| {
            let mut said = crate::oauth::metadata(seen);
            said["token_endpoint"] = new.clone().into();
            Reply::json(200, said)
        })
    })
    .await;
    person.sign_in(None).await.unwrap();
    moved.store(true, std::sync::atomic::Ordering::Relaxed);
    person.clock.turn(4000);
    assert_eq!(person.token().await.unwrap().as_deref(), Some("a-2"), "renewed where it was given");
    assert!(other.seen().is_empty());
}

#[tokio::test]
async fn a_code_of_one_server_is_not_redeemed_at_another() {
    let (mine, theirs) = (Person::with(|_| None).await, Person::with(|_| None).await);
    let wish = SignInRequest { owner: mine.owner, url: mine.url(), challenge: None, client: None };
    let started = mine.oauth.start_sign_in(wish).await.unwrap();
    let answer =
        SignInCallback { state: started.state.clone(), code: Some("code".to_owned()), ..SignInCallback::default() };
    theirs.oauth.complete_sign_in(theirs.owner, started.pending, answer).await.unwrap_err();
    assert!(theirs.asked("/token").is_empty() && mine.asked("/token").is_empty());
}

#[tokio::test]
async fn cookies_are_not_kept() {
    type Script = fn(&Seen) -> Option<Reply>;
    let eras: [Script; 2] = [|seen| modern(seen, &json!({})), legacy];
    for shake in eras {
        let server = Server::start(move |seen| {
            let reply = shake(seen).unwrap_or_else(|| match seen.rpc() {
                "tools/list" => seen.result(json!({ "resultType": "complete", "tools": [tool("work")] })),
                _ => seen.result(json!({ "resultType": "complete", "content": [] })),
            });
            reply.with("set-cookie", "session=tracked; Path=/")
        })
        .await;
        let connection = crate::connect(server.url("/mcp")).await.unwrap();
        connection.list_tools().await.unwrap();
        connection.call_tool("work", Map::new(), CallOptions::default()).await.unwrap();
        assert!(server.seen().len() >= 3 && server.seen().iter().all(|seen| seen.header("cookie").is_none()));
    }
}
