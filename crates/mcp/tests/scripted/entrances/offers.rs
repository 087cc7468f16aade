//! Pictures that servers name, and addresses in what they give.

use std::sync::Arc;

use mcp::{Client, ConnectionTarget, IconError};
use serde_json::json;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::{guard, nothing_enters};
use crate::http::{Reply, Seen, Server};

/// A server with resources, which holds none of those that it is asked for.
fn without_any(seen: &Seen) -> Reply {
    match seen.rpc() {
        "server/discover" => seen.result(json!({
            "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": { "resources": {} },
            "ttlMs": 0, "cacheScope": "private",
        })),
        _ => seen.error(200, -32602, "No such resource"),
    }
}

#[tokio::test]
async fn a_picture_that_a_server_has_of_itself() {
    let client = Client::new(guard(None));
    nothing_enters("https", |url| {
        let client = client.clone();
        async move {
            let server = Url::parse(&url).map_err(|error| error.to_string())?;
            match client.fetch_icon(&server, &url).await {
                Err(IconError::Forbidden | IconError::Server(mcp::Error::Blocked(_))) => Err("it was refused".into()),
                other => panic!("it was not refused for what it is: {other:?}"),
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_picture_that_a_public_server_has_elsewhere() {
    let client = Client::new(guard(None));
    let server: Url = "https://public.example/mcp".parse().unwrap();
    for scheme in ["http", "https", "ws", "file", "ftp"] {
        nothing_enters(scheme, |url| {
            let (client, server) = (client.clone(), server.clone());
            async move {
                match client.fetch_icon(&server, &url).await {
                    Err(IconError::Forbidden) => Err("it was refused".into()),
                    other => panic!("it was not refused for what it is: {other:?}"),
                }
            }
        })
        .await;
    }
}

#[tokio::test]
async fn a_link_to_a_resource_is_followed_by_its_server_alone() {
    let server = Server::start(without_any).await;
    let client = Client::new(guard(Some(&server)));
    let connection =
        client.connect(ConnectionTarget::new(server.url("/mcp")), &CancellationToken::new()).await.unwrap();
    let connection = Arc::new(connection);
    let before = server.seen().len();
    nothing_enters("http", |url| {
        let connection = connection.clone();
        async move { connection.read_resource(&url).await.map(drop).map_err(|error| error.to_string()) }
    })
    .await;
    let asked = server.seen().split_off(before);
    assert!(asked.len() >= 300 && asked.iter().all(|seen| seen.rpc() == "resources/read"), "home was asked each time");
}
