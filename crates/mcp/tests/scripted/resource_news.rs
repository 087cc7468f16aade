//! News of resources, of servers of both eras.

use std::time::Duration;

use mcp::ResourceSubscription;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::http::{Reply, Seen, Server, event};
use crate::news::Streams;
use crate::{PATIENCE, connect};

const WATCHED: &str = "note://1";

/// The handshake of a server of 2026-07-28 that tells when a resource changes.
fn modern(seen: &Seen) -> Option<Reply> {
    (seen.rpc() == "server/discover").then(|| {
        seen.result(json!({
            "resultType": "complete", "supportedVersions": ["2026-07-28"],
            "capabilities": { "resources": { "subscribe": true } }, "ttlMs": 0, "cacheScope": "private",
        }))
    })
}

async fn say(id: &Value, sender: &mpsc::Sender<Vec<u8>>, method: &str, mut params: Value) {
    params["_meta"] = json!({ "io.modelcontextprotocol/subscriptionId": id });
    sender.send(event(&json!({ "jsonrpc": "2.0", "method": method, "params": params }))).await.unwrap();
}

async fn grant(id: &Value, sender: &mpsc::Sender<Vec<u8>>, uris: &[&str]) {
    let granted = json!({ "notifications": { "resourceSubscriptions": uris } });
    say(id, sender, "notifications/subscriptions/acknowledged", granted).await;
}

async fn hears(watch: &mut ResourceSubscription) -> bool {
    tokio::time::timeout(PATIENCE, watch.changed()).await.unwrap()
}

#[tokio::test]
async fn a_modern_server_tells_what_changed_also_after_its_stream_broke() {
    let (mut streams, open) = Streams::new();
    let server = Server::start(move |seen| modern(seen).unwrap_or_else(|| open(seen.body["id"].clone()))).await;
    let connection = connect(server.url("/mcp")).await.unwrap();
    let (watch, (id, sender)) = tokio::join!(connection.subscribe_resource(WATCHED), async {
        let (id, sender) = streams.next().await;
        grant(&id, &sender, &[WATCHED]).await;
        (id, sender)
    });
    let mut watch = watch.unwrap();
    let asked = server.seen().pop().unwrap();
    assert_eq!(asked.rpc(), "subscriptions/listen");
    assert_eq!(asked.body["params"]["notifications"], json!({ "resourceSubscriptions": [WATCHED] }));
    say(&id, &sender, "notifications/resources/updated", json!({ "uri": WATCHED })).await;
    assert!(hears(&mut watch).await);

    // It may have changed while nobody listened.
    drop(sender);
    let (id, sender) = streams.next().await;
    grant(&id, &sender, &[WATCHED]).await;
    assert!(hears(&mut watch).await);
    say(&id, &sender, "notifications/resources/updated", json!({ "uri": WATCHED })).await;
    assert!(hears(&mut watch).await);

    connection.close().await;
    assert!(!hears(&mut watch).await, "a closed connection tells nothing more");
}

#[tokio::test]
async fn a_modern_server_that_grants_less_tells_nothing() {
    let (mut streams, open) = Streams::new();
    let server = Server::start(move |seen| modern(seen).unwrap_or_else(|| open(seen.body["id"].clone()))).await;
    let connection = connect(server.url("/mcp")).await.unwrap();
    let (watch, ()) = tokio::join!(connection.subscribe_resource(WATCHED), async {
        let (id, sender) = streams.next().await;
        grant(&id, &sender, &[]).await;
    });
    assert_eq!(watch.map(drop).unwrap_err().to_string(), "offers no news of its resources");
}

#[tokio::test]
async fn whoever_stops_listening_hangs_up() {
    let (mut streams, open) = Streams::new();
    let mut server = Server::start(move |seen| modern(seen).unwrap_or_else(|| open(seen.body["id"].clone()))).await;
    let connection = connect(server.url("/mcp")).await.unwrap();
    let (watch, _sender) = tokio::join!(connection.subscribe_resource(WATCHED), async {
        let (id, sender) = streams.next().await;
        grant(&id, &sender, &[WATCHED]).await;
        sender
    });
    drop(watch.unwrap());
    let gone = tokio::time::timeout(PATIENCE + Duration::from_secs(10), server.hung_up()).await.unwrap();
    assert_eq!(gone, "subscriptions/listen");
}
