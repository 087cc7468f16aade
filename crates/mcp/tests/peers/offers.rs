//! Prompts, resources and what goes with them, of servers of other makers.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::message::Role;
use mcp::{CompletionTarget, Connection, ProtocolFamily};
use serde_json::json;

use crate::peer::Peer;
use crate::{call, connect};

/// Far more than a busy machine needs to tell something.
const PATIENCE: Duration = Duration::from_secs(30);

fn map<const N: usize>(pairs: [(&str, &str); N]) -> BTreeMap<String, String> {
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}

async fn proposals(connection: &Connection, blank: CompletionTarget, name: &str, value: &str) -> Vec<String> {
    connection.complete(blank, name, value, BTreeMap::new()).await.unwrap().values
}

/// What every wire to the server "everything" has to carry.
async fn use_offers(connection: &Connection) {
    let prompts = connection.list_prompts().await.unwrap();
    assert!(!prompts.is_cut);
    let named = |name: &str| prompts.items.iter().find(|prompt| prompt.name == name).unwrap();
    let taken: Vec<(&str, bool)> =
        named("args-prompt").arguments.iter().map(|argument| (argument.name.as_str(), argument.required)).collect();
    assert_eq!(taken, [("city", true), ("state", false)]);
    let filled = connection.get_prompt("args-prompt", &map([("city", "Lisbon")])).await.unwrap();
    assert_eq!((filled.messages.len(), filled.messages[0].role), (1, Role::User));
    assert_eq!(filled.messages[0].content, json!({ "type": "text", "text": "What's weather in Lisbon?" }));
    let with_resource = map([("resourceType", "Text"), ("resourceId", "1")]);
    let filled = connection.get_prompt("resource-prompt", &with_resource).await.unwrap();
    assert_eq!(filled.messages[1].content["type"], "resource");
    let error = connection.get_prompt("args-prompt", &BTreeMap::new()).await.unwrap_err();
    assert!(error.to_string().starts_with("answered with an error"), "{error}");

    let prompt = || CompletionTarget::Prompt("completable-prompt".into());
    assert_eq!(proposals(connection, prompt(), "department", "S").await, ["Sales", "Support"]);
    let filled = map([("department", "Sales")]);
    let found = connection.complete(prompt(), "name", "", filled).await.unwrap();
    assert_eq!(found.values, ["David", "Eve", "Frank"]);

    let resources = connection.list_resources().await.unwrap().items;
    let page = resources.iter().find(|resource| resource.mime_type.as_deref() == Some("text/markdown")).unwrap();
    let read = connection.read_resource(&page.uri).await.unwrap();
    assert!(read[0].text.as_ref().is_some_and(|text| !text.is_empty()));
    let templates = connection.list_resource_templates().await.unwrap().items;
    let binary = templates.iter().find(|template| template.uri_template.contains("blob")).unwrap();
    let blank = CompletionTarget::Template(binary.uri_template.clone());
    assert_eq!(proposals(connection, blank, "resourceId", "7").await, ["7"]);
    let read = connection.read_resource("demo://resource/dynamic/blob/7").await.unwrap();
    assert!(read[0].text.is_none() && read[0].blob.is_some());
    assert!(connection.read_resource("demo://nowhere").await.is_err());
}

async fn use_updates(connection: &Connection) {
    let watched = "demo://resource/dynamic/text/1";
    let mut watch = connection.subscribe_resource(watched).await.unwrap();
    call(connection, "toggle-subscriber-updates", json!({})).await;
    assert!(tokio::time::timeout(PATIENCE, watch.changed()).await.unwrap());
    call(connection, "toggle-subscriber-updates", json!({})).await;
    connection.close().await;
    let end = tokio::time::timeout(PATIENCE, async { while watch.changed().await {} });
    // A closed connection tells nothing more.
    end.await.unwrap();
}

#[tokio::test]
async fn everything_is_offered_over_streamable_http() {
    let peer = Peer::start("mcp-server-everything", &["streamableHttp"], &[("PORT", "{port}")]);
    let connection = connect(&format!("http://127.0.0.1:{}/mcp", peer.port)).await;
    use_offers(&connection).await;
    use_updates(&connection).await;
}

#[tokio::test]
async fn everything_is_offered_over_http_with_sse() {
    let peer = Peer::start("mcp-server-everything", &["sse"], &[("PORT", "{port}")]);
    let connection = connect(&format!("http://127.0.0.1:{}/sse", peer.port)).await;
    use_offers(&connection).await;
    use_updates(&connection).await;
}

#[tokio::test]
async fn everything_is_offered_by_a_modern_server_too() {
    let arguments = ["--host", "127.0.0.1", "--port", "{port}", "--", "{bin}/mcp-server-everything"];
    let peer = Peer::start("mcp-proxy", &arguments, &[]);
    let connection = connect(&format!("http://127.0.0.1:{}/mcp", peer.port)).await;
    assert_eq!(connection.info().protocol, ProtocolFamily::Modern);
    use_offers(&connection).await;
}

#[tokio::test]
async fn a_server_without_them_has_empty_lists() {
    let arguments = ["--host", "127.0.0.1", "--port", "{port}", "--", "{bin}/mcp-server-filesystem", "{folder}"];
    let peer = Peer::start("mcp-proxy", &arguments, &[]);
    let connection = connect(&format!("http://127.0.0.1:{}/mcp", peer.port)).await;
    assert!(connection.list_prompts().await.unwrap().items.is_empty());
    assert!(connection.list_resources().await.unwrap().items.is_empty());
    assert!(connection.list_resource_templates().await.unwrap().items.is_empty());
    let proposed = connection.complete(CompletionTarget::Prompt("a".into()), "b", "", BTreeMap::new()).await.unwrap();
    assert!(proposed.values.is_empty());
    let said = |error: mcp::Error| error.to_string();
    assert_eq!(connection.get_prompt("a", &BTreeMap::new()).await.map_err(said), Err("offers no prompts".into()));
    assert_eq!(connection.read_resource("demo://1").await.map_err(said), Err("offers no resources".into()));
    let watched = connection.subscribe_resource("demo://1").await.map_err(said);
    assert_eq!(watched.map(drop), Err("offers no news of its resources".into()));
}
