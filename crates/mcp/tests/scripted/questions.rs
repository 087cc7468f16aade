//! Questions of servers to the person, in the middle of a call.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use domain::{ServerId, UserId};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use mcp::oauth::{ClientMetadata, CredentialOwner, CredentialStore, CredentialStoreError, Credentials, OAuthClient};
use mcp::{
    CallError, CallOptions, Connection, ConnectionTarget, Elicitation, ElicitationHandler, ElicitationResponse,
    FormContent, SuspendedCall,
};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::http::{Reply, Seen, Server, event};
use crate::oauth::{Hands, guard};
use crate::{client, legacy, modern, tool};

/// Somebody who answers as `answer` says, and remembers what was asked.
struct Person<F> {
    answer: F,
    asked: Mutex<Vec<Elicitation>>,
}

impl<F> std::fmt::Debug for Person<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Person")
    }
}

impl<F: Fn(&Elicitation) -> BoxFuture<'static, ElicitationResponse> + Send + Sync> ElicitationHandler for Person<F> {
    fn elicit(&self, question: Elicitation, _: Option<Arc<SuspendedCall>>) -> BoxFuture<'_, ElicitationResponse> {
        let answer = (self.answer)(&question);
        self.asked.lock().unwrap().push(question);
        answer
    }
}

fn person_that<F: Fn(&Elicitation) -> BoxFuture<'static, ElicitationResponse> + Send + Sync>(
    answer: F,
) -> Arc<Person<F>> {
    Arc::new(Person { answer, asked: Mutex::default() })
}

/// Answers at once: forms with their defaults, visits with consent.
fn agree(question: &Elicitation) -> BoxFuture<'static, ElicitationResponse> {
    let answer = match question {
        Elicitation::Form(form) => {
            form.fill(Map::new()).map_or(ElicitationResponse::Decline, ElicitationResponse::Accept)
        }
        Elicitation::Url(_) => ElicitationResponse::Accept(FormContent::default()),
    };
    std::future::ready(answer).boxed()
}

fn always(
    answer: ElicitationResponse,
) -> impl Fn(&Elicitation) -> BoxFuture<'static, ElicitationResponse> + Send + Sync {
    move |_| std::future::ready(answer.clone()).boxed()
}

async fn connect(server: &Server) -> Connection {
    let client = client(mcp::ConnectionLimits { connect_timeout: crate::PATIENCE, ..mcp::ConnectionLimits::default() })
        .with_elicitation();
    client.connect(ConnectionTarget::new(server.url("/mcp")), &CancellationToken::new()).await.unwrap()
}

async fn call(connection: &Connection, handler: Arc<dyn ElicitationHandler>) -> Result<String, CallError> {
    let options = CallOptions { elicitation_handler: Some(handler), ..CallOptions::default() };
    connection.call_tool("work", Map::new(), options).await.map(|result| result.to_model_text())
}

fn text(seen: &Seen, text: &str) -> Reply {
    seen.result(json!({ "resultType": "complete", "content": [{ "type": "text", "text": text }] }))
}

async fn modern_server(answer: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Server {
    Server::start(move |seen| {
        modern(seen, &json!({})).unwrap_or_else(|| match seen.rpc() {
            "tools/list" => seen.result(json!({ "resultType": "complete", "tools": [tool("work")] })),
            _ => answer(seen),
        })
    })
    .await
}

fn form(name: &str) -> Value {
    json!({ "method": "elicitation/create", "params": { "mode": "form", "message": name, "requestedSchema": {
        "type": "object", "properties": { name: { "type": "string", "default": "Ada" } },
    }}})
}

#[tokio::test]
async fn a_modern_call_is_made_again_with_the_answers_and_the_state_as_it_was() {
    const STATE: &str = "{\"b\" : 1,\"a\":\"\\u00e4\"} ";
    let server = modern_server(|seen| match &seen.body["params"]["inputResponses"] {
        Value::Null => seen.result(json!({ "resultType": "input_required", "requestState": STATE, "inputRequests": {
            "one": form("name"),
            "two": { "method": "elicitation/create", "params": {
                "mode": "url", "message": "Pay", "url": "https://pay.example/" } },
        }})),
        answers => text(seen, &answers.to_string()),
    })
    .await;
    let connection = connect(&server).await;
    let person = person_that(agree);
    let said = call(&connection, person.clone()).await.unwrap();
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(
        said,
        json!({
            "one": { "action": "accept", "content": { "name": "Ada" } }, "two": { "action": "accept" },
        })
    );
    let seen = server.seen();
    let [first, second] = &seen[seen.len() - 2..] else { panic!("two calls") };
    assert_eq!(second.body["params"]["requestState"], STATE);
    assert_ne!(first.body["id"], second.body["id"]);
    let capabilities = &first.body["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"];
    assert_eq!(capabilities["elicitation"], json!({ "form": {}, "url": {} }));
    let asked = person.asked.lock().unwrap();
    assert!(
        matches!(&asked[1], Elicitation::Url(visit) if visit.retries_call && visit.url.as_str() == "https://pay.example/")
    );
}

#[tokio::test]
async fn the_three_answers_reach_the_server_as_three() {
    for (answer, action) in [
        (ElicitationResponse::Decline, "decline"),
        (ElicitationResponse::Cancel, "cancel"),
        (ElicitationResponse::Accept(FormContent::default()), "accept"),
    ] {
        let server = modern_server(|seen| match &seen.body["params"]["inputResponses"]["q"]["action"] {
            Value::String(action) => text(seen, action),
            _ => seen.result(json!({ "resultType": "input_required", "inputRequests": { "q": form("a") } })),
        })
        .await;
        let connection = connect(&server).await;
        assert_eq!(call(&connection, person_that(always(answer))).await.unwrap(), action);
        let again = server.seen().last().unwrap().body["params"].clone();
        assert!(again.get("requestState").is_none(), "none was given: {again}");
    }
}

#[tokio::test]
async fn questions_do_not_go_on_without_end() {
    let server = modern_server(|seen| {
        seen.result(json!({ "resultType": "input_required", "inputRequests": { "q": form("a") } }))
    })
    .await;
    let connection = connect(&server).await;
    let person = person_that(agree);
    let failed = call(&connection, person.clone()).await.unwrap_err();
    assert_eq!(failed.to_string(), "violated the protocol: it keeps asking to be asked again");
    assert_eq!(person.asked.lock().unwrap().len(), 10);
}

#[tokio::test]
async fn what_was_not_offered_is_refused() {
    type Case = (fn(&Seen) -> Value, &'static str);
    let cases: [Case; 4] = [
        (
            |_| {
                json!({ "resultType": "input_required", "inputRequests": { "q": {
                "method": "sampling/createMessage", "params": { "messages": [], "maxTokens": 1 } } } })
            },
            "violated the protocol: it asked for sampling, which was not offered",
        ),
        (
            |_| json!({ "resultType": "input_required", "inputRequests": { "q": { "method": "roots/list" } } }),
            "violated the protocol: it asked for roots, which were not offered",
        ),
        (
            |_| json!({ "resultType": "input_required", "inputRequests": { "q": { "method": "shell/run" } } }),
            "violated the protocol: it asked for something that was not offered",
        ),
        (
            |_| json!({ "resultType": "perhaps", "content": [] }),
            "violated the protocol: it answered with a result of an unknown kind",
        ),
    ];
    for (answer, said) in cases {
        let server = modern_server(move |seen| seen.result(answer(seen))).await;
        let connection = connect(&server).await;
        assert_eq!(call(&connection, person_that(agree)).await.unwrap_err().to_string(), said);
    }
}

#[tokio::test]
async fn a_question_that_cannot_be_shown_is_cancelled() {
    let server = modern_server(|seen| match &seen.body["params"]["inputResponses"]["q"]["action"] {
        Value::String(action) => text(seen, action),
        _ => seen.result(json!({ "resultType": "input_required", "inputRequests": { "q": {
            "method": "elicitation/create",
            "params": { "mode": "url", "message": "!", "url": "javascript:alert(1)" } } } })),
    })
    .await;
    let connection = connect(&server).await;
    let person = person_that(agree);
    assert_eq!(call(&connection, person.clone()).await.unwrap(), "cancel");
    assert!(person.asked.lock().unwrap().is_empty());
}

/// A server of 2025-11-25 that asks `question` on the stream of the call, and answers the call with the client's
/// answer to it.
async fn legacy_server(question: Value) -> Server {
    let streams = Mutex::new(Vec::<(mpsc::Sender<Vec<u8>>, Value)>::new());
    Server::start(move |seen| match (seen.rpc(), &seen.body["result"]) {
        ("tools/call", _) => {
            let (sender, receiver) = mpsc::channel(4);
            let mut request = question.clone();
            request["jsonrpc"] = "2.0".into();
            request["id"] = "q-1".into();
            sender.try_send(event(&request)).unwrap();
            streams.lock().unwrap().push((sender, seen.body["id"].clone()));
            Reply::Events(receiver)
        }
        ("", answer) if seen.body["id"] == "q-1" => {
            let (stream, id) = streams.lock().unwrap().pop().unwrap();
            let answer = if answer.is_null() { &seen.body["error"] } else { answer };
            let result = json!({ "content": [{ "type": "text", "text": answer.to_string() }] });
            stream.try_send(event(&json!({ "jsonrpc": "2.0", "id": id, "result": result }))).unwrap();
            Reply::status(202)
        }
        _ => legacy(seen).unwrap_or(Reply::status(202)),
    })
    .await
}

#[tokio::test]
async fn a_legacy_server_asks_on_the_stream_of_the_call() {
    let server = legacy_server(form("name")).await;
    let connection = connect(&server).await;
    let said: Value = serde_json::from_str(&call(&connection, person_that(agree)).await.unwrap()).unwrap();
    assert_eq!(said, json!({ "action": "accept", "content": { "name": "Ada" } }));
    let no_one = connection.call_tool("work", Map::new(), CallOptions::default()).await.unwrap().to_model_text();
    assert_eq!(serde_json::from_str::<Value>(&no_one).unwrap(), json!({ "action": "cancel" }));
}

#[tokio::test]
async fn a_legacy_server_that_wants_a_model_is_refused() {
    let server = legacy_server(json!({ "method": "sampling/createMessage", "params": {
        "messages": [{ "role": "user", "content": { "type": "text", "text": "Hi" } }], "maxTokens": 10 } }))
    .await;
    let connection = connect(&server).await;
    let said = call(&connection, person_that(agree)).await.unwrap();
    assert!(said.contains("this client offers no sampling") && said.contains("-32601"), "{said}");
}

#[tokio::test]
async fn a_question_goes_away_with_its_call() {
    let server = legacy_server(form("name")).await;
    let connection = connect(&server).await;
    let (asked, mut asking) = mpsc::channel(1);
    let gone = CancellationToken::new();
    let told = gone.clone();
    let person = person_that(move |_: &Elicitation| {
        asked.try_send(()).unwrap();
        let gone = told.clone().drop_guard();
        async move {
            let _gone = gone;
            std::future::pending().await
        }
        .boxed()
    });
    let cancel = CancellationToken::new();
    let options = CallOptions { elicitation_handler: Some(person), cancel: cancel.clone(), ..CallOptions::default() };
    let (failed, ()) = tokio::join!(connection.call_tool("work", Map::new(), options), async {
        asking.recv().await.unwrap();
        cancel.cancel();
    });
    assert!(matches!(failed, Err(CallError::Cancelled)));
    gone.cancelled().await;
}

#[tokio::test]
async fn visits_that_an_error_demands_are_made_and_then_the_call_again() {
    let calls = Mutex::new(0);
    let server = Server::start(move |seen| {
        legacy(seen).unwrap_or_else(|| {
            let mut calls = calls.lock().unwrap();
            *calls += 1;
            if *calls > 2 {
                return seen.result(json!({ "content": [{ "type": "text", "text": "paid" }] }));
            }
            Reply::json(
                200,
                json!({ "jsonrpc": "2.0", "id": seen.body["id"], "error": {
                    "code": -32042, "message": "Pay first", "data": { "elicitations": [{
                        "mode": "url", "elicitationId": "e-1", "url": "https://pay.example/1", "message": "Pay",
                    }] },
                }}),
            )
        })
    })
    .await;
    let connection = connect(&server).await;
    let failed = connection.call_tool("work", Map::new(), CallOptions::default()).await.unwrap_err();
    assert_eq!(failed.to_string(), "answered with an error: Pay first (-32042)", "nobody can be asked");
    let person = person_that(agree);
    assert_eq!(call(&connection, person.clone()).await.unwrap(), "paid");
    assert!(matches!(&person.asked.lock().unwrap()[0], Elicitation::Url(visit) if visit.retries_call));
}

#[tokio::test]
async fn a_server_tells_that_a_visit_is_done() {
    let (sender, receiver) = mpsc::channel(4);
    let receiver = Mutex::new(Some(receiver));
    let done = event(&json!({ "jsonrpc": "2.0", "method": "notifications/elicitation/complete",
        "params": { "elicitationId": "e-1" } }));
    let calls = Mutex::new(0);
    let server = Server::start(move |seen| match seen.method.as_str() {
        "GET" => Reply::Events(receiver.lock().unwrap().take().unwrap()),
        _ if seen.rpc() == "initialize" => legacy(seen).unwrap().with("mcp-session-id", "s"),
        _ => legacy(seen).unwrap_or_else(|| {
            let mut calls = calls.lock().unwrap();
            *calls += 1;
            match *calls {
                1 => Reply::json(
                    200,
                    json!({ "jsonrpc": "2.0", "id": seen.body["id"], "error": {
                        "code": -32042, "message": "Pay first", "data": { "elicitations": [{
                            "mode": "url", "elicitationId": "e-1", "url": "https://pay.example/1", "message": "Pay",
                        }] },
                    }}),
                ),
                _ => seen.result(json!({ "content": [{ "type": "text", "text": "paid" }] })),
            }
        }),
    })
    .await;
    let connection = connect(&server).await;
    let waits = person_that(move |question: &Elicitation| {
        let Elicitation::Url(visit) = question else { panic!("{question:?}") };
        sender.try_send(done.clone()).unwrap();
        let done = visit.completed.clone();
        async move {
            done.cancelled().await;
            ElicitationResponse::Accept(FormContent::default())
        }
        .boxed()
    });
    assert_eq!(call(&connection, waits).await.unwrap(), "paid");
}

#[tokio::test]
async fn a_suspended_call_goes_on_over_another_connection() {
    let server = modern_server(|seen| match &seen.body["params"]["inputResponses"] {
        Value::Null => seen.result(json!({ "resultType": "input_required", "requestState": "s", "inputRequests": {
            "one": form("name"), "two": form("town"),
        }})),
        answers => text(seen, &answers.to_string()),
    })
    .await;
    let kept = Arc::new(Mutex::new(None));
    let cancel = CancellationToken::new();
    let person = Arc::new(Keeper { kept: kept.clone(), cancel: cancel.clone() });
    let options = CallOptions { elicitation_handler: Some(person), cancel, ..CallOptions::default() };
    let connection = connect(&server).await;
    let stopped = connection.call_tool("work", Map::new(), options).await.unwrap_err();
    assert!(matches!(stopped, CallError::Cancelled));
    connection.close().await;

    let text = kept.lock().unwrap().take().unwrap();
    let suspended: Arc<SuspendedCall> = Arc::new(serde_json::from_str(&text).unwrap());
    let person = person_that(agree);
    let resumed = suspended.collect_input(&*person).await.unwrap();
    assert_eq!(person.asked.lock().unwrap().len(), 2, "all of the round is asked again");
    let options =
        CallOptions { elicitation_handler: Some(person.clone()), resume: Some(resumed), ..CallOptions::default() };
    let said = connect(&server).await.call_tool("work", Map::new(), options).await.unwrap().to_model_text();
    let accepted = |name: &str| json!({ "action": "accept", "content": { name: "Ada" } });
    let want = json!({ "one": accepted("name"), "two": accepted("town") });
    assert_eq!(serde_json::from_str::<Value>(&said).unwrap(), want);
    assert_eq!(server.seen().last().unwrap().body["params"]["requestState"], "s");
}

/// Keeps where the call can be gone on with, as text, and stops it.
#[derive(Debug)]
struct Keeper {
    kept: Arc<Mutex<Option<String>>>,
    cancel: CancellationToken,
}

impl ElicitationHandler for Keeper {
    fn elicit(&self, _: Elicitation, from: Option<Arc<SuspendedCall>>) -> BoxFuture<'_, ElicitationResponse> {
        *self.kept.lock().unwrap() = Some(serde_json::to_string(&*from.unwrap()).unwrap());
        self.cancel.cancel();
        std::future::pending().boxed()
    }
}

#[tokio::test]
async fn a_question_that_was_put_to_the_wrong_call_is_put_to_the_next_when_that_ends() {
    let stream = Arc::new(Mutex::new(None));
    let asking = stream.clone();
    let server = Server::start(move |seen| match (seen.rpc(), seen.body["params"]["name"].as_str()) {
        // The first call is held open; while the second goes on, the server asks about the first.
        ("tools/call", Some("slow")) => {
            let (sender, receiver) = mpsc::channel(4);
            *asking.lock().unwrap() = Some((sender, seen.body["id"].clone()));
            Reply::Events(receiver)
        }
        ("tools/call", _) => text(seen, "quick"),
        ("", _) if seen.body["id"] == "q-1" => {
            let (stream, id) = asking.lock().unwrap().take().unwrap();
            let result = json!({ "content": [{ "type": "text", "text": seen.body["result"]["action"] }] });
            stream.try_send(event(&json!({ "jsonrpc": "2.0", "id": id, "result": result }))).unwrap();
            Reply::status(202)
        }
        _ => legacy(seen).unwrap_or(Reply::status(202)),
    })
    .await;
    let connection = connect(&server).await;
    let (put, mut puts) = mpsc::channel(4);
    let slow = {
        let put = put.clone();
        person_that(move |_: &Elicitation| {
            put.try_send("slow").unwrap();
            std::future::ready(ElicitationResponse::Decline).boxed()
        })
    };
    let quick = person_that(move |_: &Elicitation| {
        put.try_send("quick").unwrap();
        std::future::pending().boxed()
    });
    let stop = CancellationToken::new();
    let options = |handler: Arc<dyn ElicitationHandler>, cancel: CancellationToken| CallOptions {
        elicitation_handler: Some(handler),
        cancel,
        ..CallOptions::default()
    };
    let held = connection.call_tool("slow", Map::new(), options(slow, CancellationToken::new()));
    let second = async {
        while stream.lock().unwrap().is_none() {
            tokio::task::yield_now().await;
        }
        // It is listed after the first, and answered only when it is let go of.
        let listed = connection.call_tool("slow", Map::new(), options(quick, stop.clone()));
        let ask = async {
            let mut question = form("name");
            question["jsonrpc"] = "2.0".into();
            question["id"] = "q-1".into();
            let first = stream.lock().unwrap().clone().unwrap();
            while stream.lock().unwrap().as_ref().unwrap().1 == first.1 {
                tokio::task::yield_now().await;
            }
            // The second stays open, too: it ends because it is stopped and for no other reason.
            let _open = stream.lock().unwrap().replace(first.clone());
            first.0.try_send(event(&question)).unwrap();
            assert_eq!(puts.recv().await, Some("quick"));
            stop.cancel();
            assert_eq!(puts.recv().await, Some("slow"));
        };
        tokio::join!(listed, ask).0
    };
    let (held, second) = tokio::join!(held, second);
    assert!(matches!(second, Err(CallError::Cancelled)));
    assert_eq!(held.unwrap().to_model_text(), "decline");
}

/// A store without credentials that cannot be read while it is away.
#[derive(Debug, Default)]
struct EmptyStore {
    is_away: AtomicBool,
}

impl EmptyStore {
    fn is_away(&self) -> bool {
        self.is_away.load(Ordering::Relaxed)
    }

    fn set_away(&self, is_away: bool) {
        self.is_away.store(is_away, Ordering::Relaxed);
    }
}

impl CredentialStore for EmptyStore {
    fn load(&self, _: CredentialOwner) -> BoxFuture<'_, Result<Vec<Credentials>, CredentialStoreError>> {
        let loaded =
            if self.is_away() { Err(CredentialStoreError("the database failed".to_owned())) } else { Ok(Vec::new()) };
        std::future::ready(loaded).boxed()
    }

    fn save(&self, _: CredentialOwner, _: Credentials) -> BoxFuture<'_, Result<(), CredentialStoreError>> {
        std::future::ready(Ok(())).boxed()
    }

    fn delete(&self, _: CredentialOwner) -> BoxFuture<'_, Result<(), CredentialStoreError>> {
        std::future::ready(Ok(())).boxed()
    }
}

/// A server of 2024-11-05 that asks about each call, and answers it with the client's answer.
async fn asking_sse_server() -> Server {
    let (sender, receiver) = mpsc::channel(8);
    let (receiver, call) = (Mutex::new(Some(receiver)), Mutex::new(Value::Null));
    Server::start(move |seen| {
        let result = match (seen.method.as_str(), seen.rpc()) {
            ("GET", _) => {
                sender.try_send(b"event: endpoint\ndata: /sse\n\n".to_vec()).unwrap();
                return Reply::Events(receiver.lock().unwrap().take().unwrap());
            }
            (_, "server/discover") => return Reply::status(405),
            (_, "initialize") if receiver.lock().unwrap().is_some() => return Reply::status(405),
            (_, "initialize") => json!({
                "protocolVersion": "2024-11-05", "capabilities": { "tools": {} },
                "serverInfo": { "name": "first", "version": "0" },
            }),
            (_, "tools/call") => {
                *call.lock().unwrap() = seen.body["id"].clone();
                let mut question = form("name");
                question["jsonrpc"] = "2.0".into();
                question["id"] = "q-1".into();
                sender.try_send(event(&question)).unwrap();
                return Reply::status(202);
            }
            _ if seen.body["id"] == "q-1" => {
                let result = json!({ "content": [{ "type": "text", "text": seen.body["result"].to_string() }] });
                let answer = json!({ "jsonrpc": "2.0", "id": *call.lock().unwrap(), "result": result });
                sender.try_send(event(&answer)).unwrap();
                return Reply::status(202);
            }
            _ => return Reply::status(202),
        };
        sender.try_send(event(&json!({ "jsonrpc": "2.0", "id": seen.body["id"], "result": result }))).unwrap();
        Reply::status(202)
    })
    .await
}

#[tokio::test]
async fn an_answer_is_sent_when_the_credentials_can_be_read_again() {
    let suspending_server = modern_server(|seen| match &seen.body["params"]["inputResponses"]["q"] {
        Value::Null => seen.result(json!({ "resultType": "input_required", "inputRequests": { "q": form("name") } })),
        answer => text(seen, &answer.to_string()),
    });
    let servers = [
        (legacy_server(form("name")).await, "/mcp"),
        (asking_sse_server().await, "/sse"),
        (suspending_server.await, "/mcp"),
    ];
    for (server, path) in servers {
        let store = Arc::new(EmptyStore::default());
        let redirect_uri = "https://chat.example/callback".parse().unwrap();
        let app = ClientMetadata { name: "Chat".to_owned(), redirect_uri, metadata_url: None };
        let oauth = OAuthClient::new(guard(), app, store.clone(), Arc::new(Hands::default()));
        let owner = CredentialOwner { user: UserId::fresh(), server: ServerId::fresh() };
        let url = server.url(path);
        let target = ConnectionTarget::new(url.clone()).with_token_source(oauth.token_source(owner, url));
        let client = client(mcp::ConnectionLimits::default()).with_elicitation();
        let connection = client.connect(target, &CancellationToken::new()).await.unwrap();
        let lost = store.clone();
        let person = person_that(move |question: &Elicitation| {
            lost.set_away(true);
            agree(question)
        });
        let options = CallOptions {
            idle_timeout: Duration::from_secs(10),
            elicitation_handler: Some(person),
            ..CallOptions::default()
        };
        let restored = async {
            while !store.is_away() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            // Longer than the first attempt to send the answer.
            tokio::time::sleep(Duration::from_millis(500)).await;
            store.set_away(false);
        };
        let (result, ()) = tokio::join!(connection.call_tool("work", Map::new(), options), restored);
        let answer: Value = serde_json::from_str(&result.unwrap().to_model_text()).unwrap();
        assert_eq!(answer, json!({ "action": "accept", "content": { "name": "Ada" } }), "{path}");
    }
}
