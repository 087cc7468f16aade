//! Servers that do the worst they can, on every wire: each ends in words, within bounds, and harms nobody else.

mod memory;
mod starting;
mod wires;

use std::time::Duration;

use mcp::{CallError, CallOptions, ConnectionLimits, ConnectionTarget};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::{PATIENCE, client};
use wires::{Then, Wire, serve};

/// What a server says when the tool is called.
type Said = Box<dyn Iterator<Item = Piece> + Send>;

enum Piece {
    /// A message as it stands on the wire.
    Message(Vec<u8>),
    /// A part of a message that has no end.
    Part(Vec<u8>),
}

struct Misdeed {
    name: &'static str,
    /// What is said to a call with this id.
    says: fn(Value) -> Said,
    then: Then,
    /// What becomes of the call; `None` for a result. First where each call has its stream, which is over with anything that
    /// is said on it, and then where all share one, which may bring what belongs to others.
    ends: [Option<&'static str>; 2],
}

fn answer(id: &Value) -> Vec<u8> {
    json!({ "jsonrpc": "2.0", "id": id, "result": { "resultType": "complete", "content": [] } })
        .to_string()
        .into_bytes()
}

fn once(message: impl Into<Vec<u8>>) -> Said {
    Box::new(std::iter::once(Piece::Message(message.into())))
}

fn for_ever(message: impl Fn(u32) -> Value + Send + 'static) -> Said {
    Box::new((0..).map(move |number| Piece::Message(message(number).to_string().into_bytes())))
}

const LATE: &str = "did not answer within 500 ms";
const CLOSED: &str = "closed the connection";
const NONSENSE: &str = "violated the protocol: it sent something that is not a JSON-RPC message";

const BINARY: &str = "violated the protocol: it sent text that is not UTF-8";
const COMPLEX: &str = "sent more values than can be held in memory, or nested them too deep; ask it for less at a time, or \
    for the same as text or a file";
const LONG: &str = "sent more than 16 MiB";

const MISDEEDS: &[Misdeed] = &[
    Misdeed { name: "says nothing", says: |_| Box::new(std::iter::empty()), then: Then::Stay, ends: [Some(LATE); 2] },
    Misdeed { name: "dies", says: |_| Box::new(std::iter::empty()), then: Then::Die, ends: [Some(CLOSED); 2] },
    Misdeed { name: "answers, then dies", says: |id| once(answer(&id)), then: Then::Die, ends: [None; 2] },
    Misdeed {
        name: "answers another request",
        says: |_| once(answer(&json!(4711))),
        then: Then::Stay,
        ends: [Some(CLOSED), Some(LATE)],
    },
    Misdeed {
        name: "answers nobody",
        says: |_| once(answer(&Value::Null)),
        then: Then::Stay,
        ends: [Some(LATE), Some(NONSENSE)],
    },
    Misdeed {
        name: "answers twice, and differently",
        says: |id| Box::new((0..3).map(move |_| Piece::Message(answer(&id)))),
        then: Then::Stay,
        ends: [None; 2],
    },
    Misdeed { name: "talks nonsense", says: |_| once("yes!"), then: Then::Die, ends: [Some(CLOSED), Some(NONSENSE)] },
    Misdeed { name: "goes deep", says: |_| once("[".repeat(1 << 20)), then: Then::Die, ends: [Some(COMPLEX); 2] },
    Misdeed {
        name: "sends millions of values",
        says: |id| {
            let values = "{},".repeat(2_500_000);
            once(format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[],"structuredContent":{{"a":[{values}1]}}}}}}"#
            ))
        },
        then: Then::Stay,
        ends: [Some(COMPLEX); 2],
    },
    Misdeed {
        name: "writes what is not UTF-8",
        says: |_| once(b"{\"jsonrpc\":\"2.0\",\"method\":\"\xff\xfe\"}".to_vec()),
        then: Then::Die,
        ends: [Some(BINARY); 2],
    },
    Misdeed {
        name: "talks for ever",
        says: |_| {
            let params = json!({ "data": "x".repeat(1000) });
            for_ever(move |_| json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": params }))
        },
        then: Then::Stay,
        ends: [Some(LATE); 2],
    },
    Misdeed {
        name: "asks for ever",
        says: |_| for_ever(|id| json!({ "jsonrpc": "2.0", "id": id, "method": "ping" })),
        then: Then::Stay,
        ends: [Some(LATE); 2],
    },
    Misdeed {
        name: "says one line of 100 MB",
        says: |_| Box::new((0..100).map(|_| Piece::Part(vec![b'x'; 1 << 20]))),
        then: Then::Stay,
        ends: [Some(LONG); 2],
    },
];

/// Does not wait long for a call.
fn impatient() -> CallOptions {
    let (idle, total) = (Duration::from_millis(500), Duration::from_millis(500));
    CallOptions { idle_timeout: idle, total_timeout: total, ..CallOptions::default() }
}

async fn misbehave(wire: Wire) {
    let client = client(ConnectionLimits { connect_timeout: PATIENCE, ..ConnectionLimits::default() });
    let connect = async |url| client.connect(ConnectionTarget::new(url), &CancellationToken::new()).await.unwrap();
    let good = serve(wire, |id| once(answer(&id)), Then::Stay).await;
    let bystander = connect(good.url.clone()).await;
    let mut wrong = Vec::new();
    for misdeed in MISDEEDS {
        let server = serve(wire, misdeed.says, misdeed.then).await;
        let connection = connect(server.url.clone()).await;
        assert_eq!(connection.list_tools().await.unwrap().len(), 1);
        let before = memory::now();
        let end = misdeed.ends[usize::from(!wire.has_a_stream_for_each_call())];
        // What ends by itself may take its time.
        let options = if end == Some(LATE) { impatient() } else { CallOptions::default() };
        let bad = connection.call_tool("work", Map::new(), options);
        let others = bystander.call_tool("work", Map::new(), CallOptions::default());
        let (bad, others) = tokio::join!(bad, others);
        let said = bad.err().map(|error: CallError| error.to_string());
        if said.as_deref() != end {
            wrong.push(format!("{wire:?}: a server that {}: {said:?}", misdeed.name));
        }
        others.unwrap();
        bystander.call_tool("work", Map::new(), CallOptions::default()).await.unwrap();
        let grown = memory::grown_since(before);
        assert!(grown < memory::BOUND, "{wire:?}: a server that {} took {grown} bytes", misdeed.name);
        connection.close().await;
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_http_of_the_modern_revision() {
    misbehave(Wire::Modern).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_http_of_the_older_revisions() {
    misbehave(Wire::Legacy).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_http_with_sse() {
    misbehave(Wire::Sse).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_websocket() {
    misbehave(Wire::WebSocket).await;
}
