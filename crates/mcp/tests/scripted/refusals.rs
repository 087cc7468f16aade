//! What is said of servers that cannot be used, and that hostile ones are cut off.

use std::net::{Ipv4Addr, TcpListener};
use std::time::Duration;

use mcp::net::{GuardedHttp, NetworkPolicy};
use mcp::{Client, ConnectionLimits, ConnectionTarget, Error};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::http::{Reply, Server, event};
use crate::{client, connect, connect_within, legacy, modern, refusal, tool};

const SMALL: ConnectionLimits = ConnectionLimits {
    connect_timeout: crate::PATIENCE,
    request_timeout: crate::PATIENCE,
    list_timeout: crate::PATIENCE,
    message_bytes: 64 * 1024,
    tool_list_bytes: 32 * 1024,
    tool_count: 50,
};

async fn said_of(reply: impl Fn() -> Reply + Send + Sync + 'static) -> String {
    let server = Server::start(move |_| reply()).await;
    refusal(server.url("/mcp")).await
}

#[tokio::test]
async fn each_failure_says_what_happened() {
    let page = || Reply::new(200, "text/html; charset=utf-8", "<!doctype html><title>Shop</title>");
    assert_eq!(said_of(page).await, "is not an MCP server: it answered an HTML page");
    assert_eq!(said_of(|| Reply::new(200, "text/plain", "ok")).await, "is not an MCP server: it answered plain text");
    assert_eq!(
        said_of(|| Reply::json(200, json!({ "status": "ok" }))).await,
        "is not an MCP server: it answered JSON that is not a JSON-RPC message"
    );
    assert_eq!(said_of(|| Reply::status(401)).await, "answered 401: it requires a sign-in");
    assert_eq!(said_of(|| Reply::status(403)).await, "answered 403: access is denied");
    assert_eq!(said_of(|| Reply::new(404, "text/html", "<h1>no</h1>")).await, "answered 404 Not Found");
    assert_eq!(said_of(|| Reply::status(429)).await, "answered 429 Too Many Requests");
    assert_eq!(said_of(|| Reply::status(503)).await, "answered 503 Service Unavailable");
    assert_eq!(said_of(|| Reply::status(500)).await, "answered 500 Internal Server Error");
    assert_eq!(
        said_of(|| Reply::status(308).with("location", "https://mcp.example/v2?key=s3cret")).await,
        "redirects to another URL; use that one: https://mcp.example/v2"
    );
    assert_eq!(said_of(|| Reply::Raw(vec![])).await, "closed the connection");
    assert_eq!(
        said_of(|| Reply::Raw(b"SSH-2.0-OpenSSH_9.2\r\n".to_vec())).await,
        "is not an MCP server: it does not speak HTTP"
    );
}

#[tokio::test]
async fn nobody_there() {
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
    for scheme in ["http", "ws"] {
        let url = format!("{scheme}://127.0.0.1:{port}/mcp").parse().unwrap();
        assert_eq!(refusal(url).await, "refused the connection");
    }
    for scheme in ["http", "wss"] {
        let url = format!("{scheme}://nobody.invalid/mcp").parse().unwrap();
        assert_eq!(refusal(url).await, "has a host name that does not resolve");
    }
}

#[tokio::test]
async fn a_server_without_tls_is_told_apart_from_a_dead_one() {
    let server = Server::start(|_| Reply::status(200)).await;
    for scheme in ["https", "wss"] {
        let url = format!("{scheme}://127.0.0.1:{}/mcp", server.port).parse().unwrap();
        let refused = connect(url).await.unwrap_err();
        assert_eq!(refused.to_string(), "cannot be reached securely: it does not speak TLS");
    }
}

#[tokio::test]
async fn a_sign_in_challenge_is_kept() {
    let challenge = r#"Bearer resource_metadata="https://a.example/.well-known/oauth-protected-resource""#;
    let server = Server::start(move |_| Reply::status(401).with("www-authenticate", challenge)).await;
    let refused = connect(server.url("/mcp")).await.unwrap_err();
    let named = refused.challenge().unwrap().resource_metadata.as_deref();
    assert_eq!(named, Some("https://a.example/.well-known/oauth-protected-resource"));
    assert_eq!(server.methods(), ["server/discover"], "a door that is locked is not knocked at twice");
}

#[tokio::test]
async fn private_addresses_are_not_even_tried() {
    let server = Server::start(|_| Reply::status(200)).await;
    let strict = Client::new(GuardedHttp::new(NetworkPolicy::new(&[], false, vec![])).unwrap());
    for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]"] {
        for scheme in ["http", "ws"] {
            let url = format!("{scheme}://{host}:{}/mcp", server.port).parse().unwrap();
            let refused = strict.connect(ConnectionTarget::new(url), &CancellationToken::new()).await.unwrap_err();
            assert!(matches!(refused, Error::Blocked(_)), "{scheme}://{host}: {refused}");
        }
    }
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn redirects_within_the_origin_are_followed_and_keep_the_message() {
    let server = Server::start(|seen| match seen.path.as_str() {
        "/mcp" => Reply::status(307).with("location", "/mcp/"),
        _ => legacy(seen).unwrap_or(Reply::status(500)),
    })
    .await;
    assert_eq!(connect(server.url("/mcp")).await.unwrap().info().name, "old");
}

#[tokio::test]
async fn headers_do_not_follow_a_redirect_to_another_server() {
    let other = Server::start(|_| Reply::status(200)).await;
    let elsewhere = other.url("/mcp").to_string();
    let server = Server::start(move |_| Reply::status(307).with("location", elsewhere.clone())).await;
    let target = ConnectionTarget::new(server.url("/mcp")).with_header("authorization", "Bearer s3cret").unwrap();
    let refused = client(SMALL).connect(target, &CancellationToken::new()).await.unwrap_err();
    assert_eq!(refused.kind(), "redirected");
    assert!(other.seen().is_empty());
}

#[tokio::test]
async fn a_silent_server_is_given_up() {
    let mut server = Server::start(|_| Reply::Silence).await;
    let limits = ConnectionLimits { connect_timeout: Duration::from_millis(300), ..ConnectionLimits::default() };
    let refused = connect_within(server.url("/mcp"), limits).await.unwrap_err();
    assert_eq!(refused.to_string(), "did not answer within 300 ms");
    assert_eq!(server.hung_up().await, "server/discover");
}

#[tokio::test]
async fn connecting_can_be_cancelled() {
    let mut server = Server::start(|_| Reply::Silence).await;
    let cancel = CancellationToken::new();
    let trying = client(SMALL);
    let connecting = trying.connect(ConnectionTarget::new(server.url("/mcp")), &cancel);
    let (refused, hung_up) = tokio::join!(connecting, async {
        while server.seen().is_empty() {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
        server.hung_up().await
    });
    assert!(matches!(refused, Err(Error::Cancelled)));
    assert_eq!(hung_up, "server/discover");
}

#[tokio::test]
async fn a_message_without_end_is_cut_off() {
    for (content_type, chunk) in [("application/json", "["), ("text/event-stream", "data: x")] {
        let server = Server::start(move |_| Reply::Endless(content_type, chunk.repeat(1000).into_bytes())).await;
        let refused = connect_within(server.url("/mcp"), SMALL).await.unwrap_err();
        assert_eq!(refused.to_string(), "sent more than 65536 bytes", "{content_type}");
    }
}

#[tokio::test]
async fn an_answer_to_another_request_is_refused() {
    let server = Server::start(|_| Reply::json(200, json!({ "jsonrpc": "2.0", "id": 4711, "result": {} }))).await;
    assert_eq!(refusal(server.url("/mcp")).await, "violated the protocol: it answered a request that was not made");
}

#[tokio::test]
async fn text_that_is_not_utf8_is_refused() {
    let server = Server::start(|_| Reply::new(200, "text/event-stream", b"data: \xff\xfe\n\n".to_vec())).await;
    assert_eq!(refusal(server.url("/mcp")).await, "violated the protocol: it sent text that is not UTF-8");
}

#[tokio::test]
async fn tool_lists_have_an_end_and_a_size() {
    let listing = |page: fn(u64) -> serde_json::Value| async move {
        let count = std::sync::atomic::AtomicU64::new(0);
        let server = Server::start(move |seen| {
            let number = || count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            modern(seen, &json!({})).unwrap_or_else(|| seen.result(page(number())))
        })
        .await;
        let connection = connect_within(server.url("/mcp"), SMALL).await.unwrap();
        connection.list_tools().await.map(|tools| tools.len()).map_err(|error| error.to_string())
    };
    let circle = listing(|_| json!({ "resultType": "complete", "tools": [tool("a")], "nextCursor": "again" })).await;
    assert_eq!(circle.unwrap_err(), "violated the protocol: its list of tools does not end");
    let many =
        listing(|page| json!({ "resultType": "complete", "tools": [tool(&format!("t{page}"))], "nextCursor": "more" }))
            .await;
    assert_eq!(many.unwrap_err(), "violated the protocol: it lists more than 50 tools");
    let heavy = listing(|_| {
        let description = "x".repeat(40 * 1024);
        json!({ "resultType": "complete", "tools": [{ "name": "a", "description": description, "inputSchema": {} }] })
    })
    .await;
    assert_eq!(heavy.unwrap_err(), "sent more than 32768 bytes");
    let partly = listing(|_| json!({ "resultType": "complete", "tools": [tool("a"), { "name": 7 }, tool("b")] })).await;
    assert_eq!(partly, Ok(2), "one bad tool does not hide the others");
    let nonsense = listing(|_| json!({ "resultType": "complete", "tools": "none" })).await;
    assert_eq!(nonsense.unwrap_err(), "violated the protocol: its list of tools cannot be read");
}

#[tokio::test]
async fn a_failed_listing_is_an_error_and_never_an_empty_list() {
    let server =
        Server::start(|seen| legacy(seen).unwrap_or_else(|| seen.error(200, -32603, "the\ndatabase\u{7} is down")))
            .await;
    let failed = connect(server.url("/mcp")).await.unwrap().list_tools().await.unwrap_err();
    assert_eq!(failed.to_string(), "answered with an error: the database⟨U+0007⟩ is down (-32603)");
    let lost = Server::start(|seen| {
        legacy(seen).unwrap_or_else(|| Reply::new(200, "text/event-stream", event(&json!({ "jsonrpc": "2.0" }))))
    })
    .await;
    let failed = connect(lost.url("/mcp")).await.unwrap().list_tools().await.unwrap_err();
    assert_eq!(failed.to_string(), "closed the connection");
}
