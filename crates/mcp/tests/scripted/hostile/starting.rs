//! Servers that are hostile from the first byte on, and lists that are.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use mcp::{Connection, ConnectionLimits, Error};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::memory;
use crate::http::{Reply, Seen, Server};
use crate::{connect, connect_within, legacy, modern, tool};

/// Sends a byte every few milliseconds for as long as somebody listens.
fn drip(head: &'static [u8]) -> Reply {
    let (sender, receiver) = mpsc::channel(1);
    #[expect(clippy::disallowed_methods, reason = "it ends with the connection that it writes to")]
    tokio::spawn(async move {
        sender.send(head.to_vec()).await.ok();
        while sender.send(b" ".to_vec()).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    Reply::Bytes(receiver)
}

/// Sends it all, after a while.
fn late(bytes: Vec<u8>) -> Reply {
    let (sender, receiver) = mpsc::channel(1);
    #[expect(clippy::disallowed_methods, reason = "it ends by itself")]
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(20)).await;
        sender.send(bytes).await.ok();
    });
    Reply::Bytes(receiver)
}

#[tokio::test]
async fn a_server_that_drips_is_given_up() {
    const HEADS: [&[u8]; 3] = [
        b"HTTP/1.1 200 OK\r\ncontent-type: ",
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata:",
    ];
    for scheme in ["http", "ws"] {
        for head in HEADS {
            let server = Server::start(move |_| drip(head)).await;
            let mut url = server.url("/mcp");
            url.set_scheme(scheme).unwrap();
            let limits =
                ConnectionLimits { connect_timeout: Duration::from_millis(300), ..ConnectionLimits::default() };
            let refused = connect_within(url, limits).await.unwrap_err().to_string();
            // To a WebSocket, what is no switch of protocols says enough.
            let expected = ["did not answer within 300 ms", "is not an MCP server"];
            assert!(expected.iter().any(|expected| refused.starts_with(expected)), "{scheme}: {refused}");
        }
    }
}

#[tokio::test]
async fn a_list_that_drips_in_pages_is_given_up() {
    let page = AtomicUsize::new(0);
    let server = Server::start(move |seen| {
        modern(seen, &json!({})).unwrap_or_else(|| {
            let number = page.fetch_add(1, Ordering::Relaxed);
            let tools = [tool(&format!("t{number}"))];
            let answer = seen.result(json!({ "resultType": "complete", "tools": tools, "nextCursor": "on" }));
            late(answer.to_bytes())
        })
    })
    .await;
    let limits = ConnectionLimits {
        connect_timeout: crate::PATIENCE,
        list_timeout: Duration::from_millis(300),
        ..ConnectionLimits::default()
    };
    let connection = connect_within(server.url("/mcp"), limits).await.unwrap();
    assert_eq!(connection.list_tools().await.unwrap_err().to_string(), "did not answer within 300 ms");
}

#[tokio::test]
async fn headers_without_end() {
    let long = || format!("x-long: {}\r\n", "x".repeat(1 << 20));
    let many = || "x-many: y\r\n".repeat(100_000);
    for headers in [long(), many()] {
        for scheme in ["http", "ws"] {
            let head =
                format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n{headers}content-length: 2\r\n\r\n{{}}");
            let server = Server::start(move |_| Reply::Raw(head.clone().into_bytes())).await;
            let mut url = server.url("/mcp");
            url.set_scheme(scheme).unwrap();
            let before = memory::now();
            let refused = connect(url).await.unwrap_err();
            let expected =
                matches!(refused, Error::Protocol(_) | Error::NotMcp(_) | Error::Closed | Error::Unreachable(_));
            assert!(expected, "{scheme}: {refused}");
            assert!(memory::grown_since(before) < memory::BOUND);
        }
    }
}

#[tokio::test]
async fn redirects_in_a_circle() {
    for status in [301, 302, 303, 307, 308] {
        let server = Server::start(move |seen| {
            Reply::status(status).with("location", if seen.path == "/mcp" { "/mcp/" } else { "/mcp" })
        })
        .await;
        assert_eq!(connect(server.url("/mcp")).await.unwrap_err().kind(), "redirected", "{status}");
        assert!(server.seen().len() <= 5, "{}", server.seen().len());
    }
}

#[tokio::test]
async fn a_body_that_grows_when_it_is_unpacked_is_not_unpacked() {
    // 1 MB of these zeros would be more than a GB.
    let bomb: Vec<u8> = [&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 3][..], &vec![0; 1 << 20]].concat();
    for encoding in ["gzip", "deflate", "br", "zstd"] {
        let packed = bomb.clone();
        let server = Server::start(move |_| {
            Reply::new(200, "application/json", packed.clone()).with("content-encoding", encoding)
        })
        .await;
        let before = memory::now();
        let refused = connect(server.url("/mcp")).await.unwrap_err();
        assert!(matches!(refused, Error::NotMcp(_)), "{encoding}: {refused}");
        assert!(memory::grown_since(before) < memory::BOUND);
        assert!(server.seen()[0].header("accept-encoding").is_none(), "nobody asked for it");
    }
}

/// A server of both eras in turn, whose list is these tools, `page` on each page.
async fn lists(is_modern: bool, tools: Vec<Value>, page: usize) -> (Server, Connection) {
    let server = Server::start(move |seen| {
        let shaken = if is_modern { modern(seen, &json!({})) } else { legacy(seen) };
        shaken.unwrap_or_else(|| list_page(seen, &tools, page))
    })
    .await;
    let connection = connect(server.url("/mcp")).await.unwrap();
    (server, connection)
}

fn list_page(seen: &Seen, tools: &[Value], page: usize) -> Reply {
    let from: usize = seen.body["params"]["cursor"].as_str().map_or(0, |cursor| cursor.parse().unwrap());
    let to = (from + page).min(tools.len());
    let mut result = json!({ "resultType": "complete", "tools": tools[from..to] });
    if to < tools.len() {
        result["nextCursor"] = to.to_string().into();
    }
    seen.result(result)
}

#[tokio::test]
async fn ten_thousand_tools_are_listed() {
    for is_modern in [true, false] {
        let tools: Vec<Value> = (0..10_000).map(|number| tool(&format!("t{number}"))).collect();
        for page in [100, 10_000] {
            let (_server, connection) = lists(is_modern, tools.clone(), page).await;
            let began = Instant::now();
            assert_eq!(connection.list_tools().await.unwrap().len(), 10_000);
            assert!(began.elapsed() < crate::PATIENCE);
        }
    }
}

#[tokio::test]
async fn descriptions_of_a_megabyte_have_a_bound_in_all() {
    let long = |number| json!({ "name": format!("t{number}"), "description": "x".repeat(1 << 20), "inputSchema": {} });
    let (_server, few) = lists(true, (0..4).map(long).collect(), 1).await;
    assert_eq!(few.list_tools().await.unwrap().len(), 4);
    let (_server, many) = lists(true, (0..40).map(long).collect(), 1).await;
    let before = memory::now();
    assert_eq!(many.list_tools().await.unwrap_err().to_string(), "sent more than 16 MiB");
    assert!(memory::grown_since(before) < memory::BOUND);
}

#[tokio::test]
async fn schemas_that_refer_to_themselves_are_only_kept() {
    let circle = json!({
        "type": "object", "$defs": { "a": { "$ref": "#/$defs/b" }, "b": { "$ref": "#/$defs/a" } },
        "properties": { "a": { "$ref": "#/$defs/a" }, "self": { "$ref": "#" }, "far": { "$ref": "http://127.0.0.1:1/schema" } },
    });
    let mut deep = json!({ "type": "string" });
    for _ in 0..60 {
        deep = json!({ "type": "object", "properties": { "a": deep } });
    }
    let tools =
        [circle, deep].map(|schema| json!({ "name": "work", "inputSchema": schema.clone(), "outputSchema": schema }));
    for tool in tools {
        let (_server, connection) = lists(true, vec![tool.clone()], 1).await;
        let listed = connection.list_tools().await.unwrap();
        assert_eq!(listed[0].input_schema, tool["inputSchema"]);
    }
}

#[tokio::test]
async fn a_tool_that_is_gone_when_it_is_called_is_an_error_of_the_server() {
    let is_there = Mutex::new(true);
    let server = Server::start(move |seen| {
        modern(seen, &json!({})).unwrap_or_else(|| match seen.rpc() {
            "tools/list" if std::mem::take(&mut *is_there.lock().unwrap()) => {
                seen.result(json!({ "resultType": "complete", "tools": [tool("work")] }))
            }
            "tools/list" => seen.result(json!({ "resultType": "complete", "tools": [tool("other")] })),
            _ => seen.error(200, -32602, "Unknown tool: work"),
        })
    })
    .await;
    let connection = connect(server.url("/mcp")).await.unwrap();
    assert_eq!(connection.list_tools().await.unwrap()[0].name, "work");
    let gone = connection.call_tool("work", serde_json::Map::new(), mcp::CallOptions::default()).await.unwrap_err();
    assert_eq!(gone.to_string(), "answered with an error: Unknown tool: work (-32602)");
    assert_eq!(connection.list_tools().await.unwrap()[0].name, "other");
}
