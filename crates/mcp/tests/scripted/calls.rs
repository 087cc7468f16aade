//! How calls end.

use std::sync::Mutex;
use std::time::Duration;

use domain::tool::Outcome;
use mcp::{CallError, CallOptions, Connection, Error};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::http::{Reply, Seen, Server, event};
use crate::{connect, legacy, modern, tool};

/// A server whose calls are answered by `answer`, of the modern era or of the legacy one.
async fn server(is_modern: bool, answer: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> (Server, Connection) {
    let server = Server::start(move |seen| {
        let shaken = if is_modern { modern(seen, &json!({})) } else { legacy(seen) };
        shaken.unwrap_or_else(|| match seen.rpc() {
            "tools/list" => seen.result(json!({ "resultType": "complete", "tools": [tool("work")] })),
            "tools/call" => answer(seen),
            _ => Reply::status(202),
        })
    })
    .await;
    let connection = connect(server.url("/mcp")).await.unwrap();
    (server, connection)
}

async fn failure(connection: &Connection, options: CallOptions) -> CallError {
    connection.call_tool("work", Map::new(), options).await.unwrap_err()
}

type Answer = fn(&Seen) -> Reply;

#[tokio::test]
async fn each_end_of_a_call_is_told_apart() {
    let cases: [(Answer, Outcome, &str); 8] = [
        (
            |seen| seen.error(200, -32602, "no such tool"),
            Outcome::Error,
            "answered with an error: no such tool (-32602)",
        ),
        (|_| Reply::status(401), Outcome::Error, "answered 401: it requires a sign-in"),
        (|_| Reply::status(429), Outcome::Error, "answered 429 Too Many Requests"),
        (|_| Reply::status(502), Outcome::Unknown, "answered 502 Bad Gateway"),
        (|_| Reply::Raw(vec![]), Outcome::Unknown, "closed the connection"),
        (|_| Reply::new(200, "text/event-stream", ": nothing\n\n"), Outcome::Unknown, "closed the connection"),
        (
            |_| {
                Reply::Raw(
                    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{\"json".to_vec(),
                )
            },
            Outcome::Unknown,
            "closed the connection",
        ),
        (
            |_| Reply::new(200, "text/html", "<h1>Gateway</h1>"),
            Outcome::Unknown,
            "is not an MCP server: it answered an HTML page",
        ),
    ];
    for is_modern in [true, false] {
        for (answer, outcome, text) in cases {
            let (_server, connection) = server(is_modern, answer).await;
            let failed = failure(&connection, CallOptions::default()).await;
            assert_eq!((failed.outcome(), failed.to_string().as_str()), (outcome, text), "modern: {is_modern}");
        }
    }
}

#[tokio::test]
async fn a_server_that_went_away_got_nothing() {
    let (server, connection) = server(false, |_| Reply::Silence).await;
    drop(server);
    let failed = failure(&connection, CallOptions::default()).await;
    assert!(matches!(failed, CallError::NotSent(Error::ConnectionRefused)), "{failed:?}");
}

#[tokio::test]
async fn silence_ends_with_an_unknown_outcome() {
    for is_modern in [true, false] {
        let (mut server, connection) = server(is_modern, |_| Reply::Silence).await;
        let options = CallOptions { idle_timeout: Duration::from_millis(200), ..CallOptions::default() };
        let failed = failure(&connection, options).await;
        assert_eq!((failed.outcome(), failed.to_string().as_str()), (Outcome::Unknown, "did not answer within 200 ms"));
        assert_eq!(server.hung_up().await, "tools/call");
    }
}

#[tokio::test]
async fn reports_without_end_do_not_outlast_the_total_time() {
    let (_server, connection) = server(false, |seen| {
        let token = &seen.body["params"]["_meta"]["progressToken"];
        let params = json!({ "progressToken": token, "progress": 1 });
        let report = json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params });
        Reply::Endless("text/event-stream", event(&report))
    })
    .await;
    let options = CallOptions { total_timeout: Duration::from_millis(500), ..CallOptions::default() };
    assert_eq!(failure(&connection, options).await.to_string(), "did not answer within 500 ms");
}

/// Waits until the server has seen the notice that a call is cancelled, and gives the id it names.
async fn cancelled(server: &Server) -> Value {
    loop {
        if let Some(seen) = server.seen().iter().find(|seen| seen.rpc() == "notifications/cancelled") {
            return seen.body["params"]["requestId"].clone();
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn call_id(server: &Server) -> Value {
    server.seen().iter().find(|seen| seen.rpc() == "tools/call").unwrap().body["id"].clone()
}

#[tokio::test]
async fn a_stopped_call_is_stopped_on_the_server() {
    for is_modern in [true, false] {
        let (sender, receiver) = mpsc::channel(4);
        let receiver = Mutex::new(Some(receiver));
        let (mut server, connection) =
            server(is_modern, move |_| Reply::Events(receiver.lock().unwrap().take().unwrap())).await;
        let cancel = CancellationToken::new();
        let options = CallOptions { cancel: cancel.clone(), ..CallOptions::default() };
        let (failed, ()) = tokio::join!(failure(&connection, options), async {
            while !server.methods().contains(&"tools/call".to_owned()) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            cancel.cancel();
        });
        assert!(matches!(failed, CallError::Cancelled));
        assert_eq!(failed.outcome(), Outcome::Stopped);
        if is_modern {
            assert_eq!(server.hung_up().await, "tools/call", "the modern era closes the stream");
        } else {
            assert_eq!(cancelled(&server).await, call_id(&server));
        }
        drop(sender);
    }
}

#[tokio::test]
async fn a_call_that_nobody_waits_for_is_stopped_too() {
    let (server, connection) = server(false, |_| Reply::Silence).await;
    let call = connection.call_tool("work", Map::new(), CallOptions::default());
    let sent = async {
        while !server.methods().contains(&"tools/call".to_owned()) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        _ = call => panic!("it was not answered"),
        () = sent => {}
    }
    assert_eq!(cancelled(&server).await, call_id(&server));
}

#[tokio::test]
async fn a_stopped_call_is_not_sent() {
    let (server, connection) = server(false, |_| Reply::Silence).await;
    let options = CallOptions::default();
    options.cancel.cancel();
    assert!(matches!(failure(&connection, options).await, CallError::Cancelled));
    assert!(!server.methods().contains(&"tools/call".to_owned()));
}

#[tokio::test]
async fn what_a_server_asks_for_is_refused_and_a_ping_is_answered() {
    let (sender, receiver) = mpsc::channel(16);
    let (answers, mut answered) = mpsc::channel(16);
    let receiver = Mutex::new(Some(receiver));
    let server = Server::start(move |seen| {
        if seen.body["method"].is_null() && seen.method == "POST" {
            answers.try_send(seen.body.clone()).unwrap();
        }
        legacy(seen).unwrap_or_else(|| match seen.rpc() {
            "tools/call" => {
                for (id, method, params) in [
                    (1, "ping", json!({})),
                    (2, "roots/list", json!({})),
                    (3, "sampling/createMessage", json!({ "messages": [], "maxTokens": 1 })),
                    (
                        4,
                        "elicitation/create",
                        json!({
                            "mode": "form", "message": "?", "requestedSchema": { "type": "object", "properties": {} },
                        }),
                    ),
                    (5, "files/delete", json!({})),
                ] {
                    let ask =
                        json!({ "jsonrpc": "2.0", "id": format!("ask-{id}"), "method": method, "params": params });
                    sender.try_send(event(&ask)).unwrap();
                }
                let result = json!({ "jsonrpc": "2.0", "id": seen.body["id"], "result": { "content": [] } });
                let (sender, mut done) = (sender.clone(), Some(result));
                // The answer follows when all questions have been answered.
                FINISH
                    .lock()
                    .unwrap()
                    .replace(Box::new(move || sender.try_send(event(&done.take().unwrap())).unwrap()));
                Reply::Events(receiver.lock().unwrap().take().unwrap())
            }
            _ => Reply::status(202),
        })
    })
    .await;
    let connection = connect(server.url("/mcp")).await.unwrap();
    let call = connection.call_tool("work", Map::new(), CallOptions::default());
    let (result, said) = tokio::join!(call, async {
        let mut said = std::collections::BTreeMap::new();
        while said.len() < 5 {
            let answer = answered.recv().await.unwrap();
            said.insert(answer["id"].as_str().unwrap().to_owned(), answer);
        }
        (FINISH.lock().unwrap().take().unwrap())();
        said
    });
    assert!(!result.unwrap().is_error);
    assert_eq!(said["ask-1"]["result"], json!({}));
    for id in ["ask-2", "ask-3", "ask-4", "ask-5"] {
        assert_eq!(said[id]["error"]["code"], -32601, "{id}: {}", said[id]);
    }
}

/// Sends the answer that a test has kept back.
static FINISH: Mutex<Option<Box<dyn FnMut() + Send>>> = Mutex::new(None);

#[tokio::test]
async fn a_server_may_ask_to_be_asked_again() {
    let (server, connection) = server(true, |seen| match seen.body["params"]["requestState"].as_str() {
        None => seen.result(json!({ "resultType": "input_required", "requestState": "opaque \" state" })),
        Some(state) => seen.result(json!({ "resultType": "complete", "content": [{ "type": "text", "text": state }] })),
    })
    .await;
    let result = connection.call_tool("work", Map::new(), CallOptions::default()).await.unwrap();
    assert_eq!(result.to_model_text(), "opaque \" state");
    let seen = server.seen();
    assert_ne!(seen[1].body["id"], seen[2].body["id"]);
}

#[tokio::test]
async fn a_call_with_outdated_headers_is_repeated_with_a_fresh_list() {
    let tries = std::sync::atomic::AtomicU32::new(0);
    let (server, connection) =
        server(true, move |seen| match tries.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
            0 => seen.error(400, -32020, "Mcp-Param-Region does not match"),
            _ => seen.result(json!({ "resultType": "complete", "content": [] })),
        })
        .await;
    connection.call_tool("work", Map::new(), CallOptions::default()).await.unwrap();
    assert_eq!(server.methods()[1..], ["tools/call", "tools/list", "tools/call"]);
}

#[tokio::test]
async fn content_of_an_unknown_kind_is_kept() {
    let (_server, connection) = server(true, |seen| {
        let content = json!([{ "type": "hologram", "data": "…" }, { "type": "text", "text": "seen?" }]);
        seen.result(
            json!({ "resultType": "complete", "content": content, "structuredContent": [1, 2], "isError": true }),
        )
    })
    .await;
    let result = connection.call_tool("work", Map::new(), CallOptions::default()).await.unwrap();
    assert_eq!(result.content[0]["type"], "hologram");
    assert_eq!((result.is_error, result.structured_content), (true, Some(json!([1, 2]))));
}
