//! Tokens that end.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::future::join_all;
use mcp::{CallOptions, Error};
use serde_json::Map;
use tokio::sync::mpsc;

use super::{Person, grant, node, refuse};
use crate::http::Reply;

#[tokio::test]
async fn a_token_is_renewed_before_it_ends_and_once_for_all() {
    let person = Person::with(|_| None).await;
    person.sign_in(None).await.unwrap();
    let connection = person.connect().await.unwrap();
    person.clock.turn(3600 - 61);
    assert_eq!(person.token().await.unwrap().as_deref(), Some("a-1"));
    person.clock.turn(1);
    let calls = (0..10).map(|_| connection.call_tool("work", Map::new(), CallOptions::default()));
    assert!(join_all(calls).await.iter().all(Result::is_ok));
    assert_eq!(person.grants(), ["authorization_code", "refresh_token"]);
    let refresh = &person.asked("/token")[1];
    assert_eq!(refresh.field("refresh_token").as_deref(), Some("r-1"));
    assert_eq!(refresh.field("resource").unwrap(), person.url().as_str());
    let calls: Vec<_> = person.asked("/mcp").into_iter().filter(|seen| seen.rpc() == "tools/call").collect();
    assert!(calls.len() == 10 && calls.iter().all(|seen| seen.header("authorization") == Some("Bearer a-2")));
}

#[tokio::test]
async fn two_nodes_use_a_refresh_token_once() {
    let person = Person::with(|_| None).await;
    person.sign_in(None).await.unwrap();
    person.clock.turn(4000);
    let nodes = [node(&person.store, &person.clock), node(&person.store, &person.clock)];
    let sessions: Vec<_> = nodes.iter().map(|node| node.token_source(person.owner, person.url())).collect();
    for token in join_all(sessions.iter().map(mcp::oauth::TokenSource::token)).await {
        assert_eq!(token.unwrap().unwrap().expose(), "a-2");
    }
    assert_eq!(person.grants(), ["authorization_code", "refresh_token"]);
}

#[tokio::test]
async fn a_token_that_the_server_refuses_is_renewed_once() {
    let person =
        Person::with(|seen| (seen.header("authorization") == Some("Bearer a-1")).then(|| Reply::status(401))).await;
    person.sign_in(None).await.unwrap();
    person.connect().await.unwrap();
    assert_eq!(person.grants(), ["authorization_code", "refresh_token"]);

    let never = Person::with(|seen| (seen.path == "/mcp").then(|| Reply::status(401))).await;
    never.sign_in(None).await.unwrap();
    let refused = never.connect().await.unwrap_err();
    assert!(refused.challenge().is_some(), "{refused}");
    assert_eq!((never.grants().len(), never.asked("/mcp").len()), (2, 2), "no loop");
}

#[tokio::test]
async fn a_refused_refresh_token_means_signing_in_again() {
    let person = Person::with(|seen| seen.field("refresh_token").map(|_| refuse("invalid_grant"))).await;
    person.sign_in(None).await.unwrap();
    person.clock.turn(4000);
    assert!(matches!(person.connect().await, Err(Error::Unauthorized { .. })));
    assert!(matches!(person.connect().await, Err(Error::Unauthorized { .. })));
    assert_eq!(person.grants().len(), 2, "a refused token is not tried again");
    person.sign_in(None).await.unwrap();
    person.connect().await.unwrap();
    assert_eq!(person.asked("/register").len(), 1, "the client stays");
}

#[tokio::test]
async fn a_client_that_is_gone_is_forgotten_with_its_tokens() {
    let person = Person::with(|seen| seen.field("refresh_token").map(|_| refuse("invalid_client"))).await;
    person.sign_in(None).await.unwrap();
    person.clock.turn(4000);
    assert_eq!(person.token().await.unwrap(), None);
    person.sign_in(None).await.unwrap();
    assert_eq!(person.asked("/register").len(), 2);
}

#[tokio::test]
async fn a_dead_sign_in_server_costs_no_sign_in() {
    let dead = Arc::new(AtomicBool::new(true));
    let is_dead = dead.clone();
    let person = Person::with(move |seen| {
        (seen.field("refresh_token").is_some() && is_dead.load(Ordering::Relaxed)).then(|| Reply::status(503))
    })
    .await;
    person.sign_in(None).await.unwrap();
    person.clock.turn(3600 - 30);
    assert_eq!(person.token().await.unwrap().as_deref(), Some("a-1"), "still good for half a minute");
    person.clock.turn(30);
    let failed = person.connect().await.unwrap_err();
    assert_eq!(
        failed.to_string(),
        "cannot be used: its sign-in could not be refreshed: the authorization server answered 503 Service Unavailable"
    );
    dead.store(false, Ordering::Relaxed);
    assert_eq!(person.token().await.unwrap().as_deref(), Some("a-2"));
}

#[tokio::test]
async fn a_new_refresh_token_is_kept_even_if_nobody_waits_for_it() {
    let (asked, mut asking) = mpsc::channel(1);
    let (answer, answers) = mpsc::channel(1);
    let answers = Mutex::new(Some(answers));
    let person = Person::with(move |seen| {
        let refresh = seen.field("refresh_token")? == "r-1";
        refresh.then(|| {
            asked.try_send(()).unwrap();
            Reply::Bytes(answers.lock().unwrap().take().unwrap())
        })
    })
    .await;
    person.sign_in(None).await.unwrap();
    person.clock.turn(4000);
    tokio::select! {
        token = person.token() => panic!("{token:?}"),
        asked = asking.recv() => asked.unwrap(),
    }
    answer.send(grant(2).to_bytes()).await.unwrap();
    drop(answer);
    person.oauth.close().await;
    assert_eq!(person.token().await.unwrap().as_deref(), Some("a-2"));
    assert_eq!(person.grants(), ["authorization_code", "refresh_token"]);
}

#[tokio::test]
async fn a_token_without_an_end_is_used_until_it_is_refused() {
    let person = Person::with(|seen| {
        (seen.path == "/token").then(|| Reply::json(200, serde_json::json!({ "access_token": "a-9" })))
    })
    .await;
    person.sign_in(None).await.unwrap();
    person.clock.turn(1_000_000);
    assert_eq!(person.token().await.unwrap().as_deref(), Some("a-9"));
    assert_eq!(person.grants(), ["authorization_code"]);
}
