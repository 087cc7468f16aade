//! Calls that run as tasks at the server, by both sets of rules.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use domain::tool::Outcome;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use mcp::{
    CallError, CallOptions, Connection, ConnectionLimits, ConnectionTarget, Elicitation, ElicitationHandler,
    ElicitationResponse, Error, SuspendedCall, Task, TaskProtocol,
};
use serde_json::{Map, Value, json};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::http::{Reply, Seen, Server, event};
use crate::{PATIENCE, client, modern};

const EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// Fills in what has a default, and remembers by whom it was asked.
#[derive(Debug, Default)]
struct Person(Mutex<Vec<String>>);

impl ElicitationHandler for Person {
    fn elicit(&self, question: Elicitation, _: Option<Arc<SuspendedCall>>) -> BoxFuture<'_, ElicitationResponse> {
        let Elicitation::Form(form) = &question else {
            return std::future::ready(ElicitationResponse::Decline).boxed();
        };
        self.0.lock().unwrap().push(form.message.clone());
        std::future::ready(form.fill(Map::new()).map_or(ElicitationResponse::Decline, ElicitationResponse::Accept))
            .boxed()
    }
}

async fn connect(server: &Server) -> Connection {
    let client =
        client(ConnectionLimits { connect_timeout: PATIENCE, ..ConnectionLimits::default() }).with_elicitation();
    let connection =
        client.connect(ConnectionTarget::new(server.url("/mcp")), &CancellationToken::new()).await.unwrap();
    connection.list_tools().await.unwrap();
    connection
}

fn task(status: &str) -> Value {
    json!({
        "taskId": "job 1", "status": status, "createdAt": "2026-11-21T10:00:00Z", "lastUpdatedAt": "2026-11-21T10:00:00Z",
        "ttlMs": 3_600_000, "pollIntervalMs": 1,
    })
}

fn with(mut object: Value, more: Value) -> Value {
    object.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    object
}

fn words(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}

/// A server of 2026-07-28 whose calls become tasks; `state` answers `tasks/get`, which is asked for the so-manieth time.
async fn modern_server(state: impl Fn(usize) -> Value + Send + Sync + 'static) -> Server {
    let polls = AtomicUsize::new(0);
    Server::start(move |seen| {
        modern(seen, &json!({})).unwrap_or_else(|| match seen.rpc() {
            "tools/list" => seen.result(json!({ "resultType": "complete", "tools": [crate::tool("work")] })),
            "tools/call" => seen.result(with(task("working"), json!({ "resultType": "task" }))),
            "tasks/get" => match state(polls.fetch_add(1, Ordering::SeqCst)) {
                gone @ Value::Number(_) => seen.error(200, gone.as_i64().unwrap(), "no such task"),
                state => seen.result(with(state, json!({ "resultType": "complete" }))),
            },
            _ => seen.result(json!({ "resultType": "complete" })),
        })
    })
    .await
}

/// A server of 2025-11-25, with these capabilities for tasks and this word about the tool.
async fn legacy_server(
    tasks: Value,
    support: Value,
    answer: impl Fn(&Seen) -> Reply + Send + Sync + 'static,
) -> Server {
    Server::start(legacy_script(tasks, support, answer)).await
}

fn legacy_script(
    tasks: Value,
    support: Value,
    answer: impl Fn(&Seen) -> Reply + Send + Sync + 'static,
) -> impl Fn(&Seen) -> Reply + Send + Sync + 'static {
    move |seen| match (seen.method.as_str(), seen.rpc()) {
        ("GET", _) => Reply::status(405),
        (_, "server/discover") => seen.error(200, -32601, "Method not found"),
        (_, "initialize") => seen.result(json!({
            "protocolVersion": "2025-11-25", "serverInfo": { "name": "old", "version": "1" },
            "capabilities": { "tools": {}, "tasks": tasks },
        })),
        (_, "tools/list") => seen.result(json!({ "tools": [
            { "name": "work", "inputSchema": { "type": "object" }, "execution": { "taskSupport": support } },
        ] })),
        (_, "tools/call" | "tasks/get" | "tasks/result") => answer(seen),
        _ => Reply::status(202),
    }
}

fn offered() -> Value {
    json!({ "cancel": {}, "requests": { "tools": { "call": {} } } })
}

fn core(status: &str) -> Value {
    json!({
        "taskId": "1", "status": status, "createdAt": "2026-11-21T10:00:00Z", "lastUpdatedAt": "2026-11-21T10:00:00Z",
        "ttl": 60_000, "pollInterval": 1,
    })
}

async fn call(connection: &Connection, options: CallOptions) -> Result<String, CallError> {
    let called = connection.call_tool("work", Map::new(), options).await;
    called.map(|result| result.to_model_text())
}

async fn resume(connection: &Connection, age: Duration) -> Result<String, CallError> {
    let task = Task::from_stored("job 1".to_owned(), TaskProtocol::Extension, Some(Duration::from_mins(1)));
    let resumed = connection.resume_task(task, age, CallOptions::default()).await;
    resumed.map(|result| result.to_model_text())
}

async fn until_seen(server: &Server, method: &str) -> Seen {
    loop {
        if let Some(seen) = server.seen().into_iter().find(|seen| seen.rpc() == method) {
            return seen;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_call_that_becomes_a_task_is_asked_about_until_it_has_ended() {
    let server = modern_server(|poll| match poll {
        0 => with(task("working"), json!({ "statusMessage": "Half\nway" })),
        _ => with(task("completed"), json!({ "result": words("done") })),
    })
    .await;
    let connection = connect(&server).await;
    let (sender, mut known) = watch::channel(None::<Task>);
    let options =
        CallOptions { on_task: Some(sender), idle_timeout: Duration::from_millis(1), ..CallOptions::default() };
    let told = async {
        let mut messages = Vec::new();
        while known.changed().await.is_ok() {
            messages.push(known.borrow_and_update().clone().unwrap());
        }
        messages
    };
    // The silence that other calls may keep is over long before.
    let called = async {
        let options = CallOptions { idle_timeout: PATIENCE, ..options };
        call(&connection, options).await
    };
    let (said, told) = tokio::join!(called, told);
    assert_eq!(said.unwrap(), "done");
    assert_eq!((told[0].id.as_str(), told[0].protocol), ("job 1", TaskProtocol::Extension));
    assert!(told.iter().any(|task| task.message.as_deref() == Some("Half way")), "{told:?}");
    assert!(!format!("{told:?}").contains("job 1"), "the id stands in no log");
    let seen = server.seen();
    let called = seen.iter().find(|seen| seen.rpc() == "tools/call").unwrap();
    let offers = &called.body["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"]["extensions"];
    assert_eq!(offers[EXTENSION], json!({}));
    let polls: Vec<&Seen> = seen.iter().filter(|seen| seen.rpc() == "tasks/get").collect();
    assert_eq!((polls.len(), polls[0].header("mcp-name")), (2, Some("job 1")));
    assert_eq!(polls[0].body["params"]["taskId"], "job 1");
    assert!(!server.methods().contains(&"tasks/cancel".to_owned()));
}

#[tokio::test]
async fn each_end_of_a_task_is_told_apart() {
    let cases: [(Value, Outcome, &str); 5] = [
        (
            with(task("failed"), json!({ "error": { "code": -32603, "message": "no paper" } })),
            Outcome::Error,
            "answered with an error: no paper (-32603)",
        ),
        (
            with(task("cancelled"), json!({ "statusMessage": "Closing time" })),
            Outcome::Stopped,
            "ended the task without a result: Closing time",
        ),
        (json!(-32602), Outcome::Unknown, "no longer knows the task"),
        (json!(-32603), Outcome::Unknown, "answered with an error: no such task (-32603)"),
        (task("resting"), Outcome::Unknown, "violated the protocol: it says of a task what cannot be read"),
    ];
    for (state, outcome, text) in cases {
        let server = modern_server(move |_| state.clone()).await;
        let connection = connect(&server).await;
        let failed = call(&connection, CallOptions::default()).await.unwrap_err();
        assert_eq!((failed.outcome(), failed.to_string().as_str()), (outcome, text));
    }
}

#[tokio::test]
async fn questions_of_a_task_are_put_once_and_answered_by_their_keys() {
    let question = |text: &str| {
        let schema = json!({ "type": "object", "properties": { "a": { "type": "string", "default": "Ada" } } });
        json!({ "method": "elicitation/create", "params": { "mode": "form", "message": text, "requestedSchema": schema } })
    };
    let server = modern_server(move |poll| match poll {
        // It has not taken in the answer yet, and then has another question.
        0 | 1 => with(task("input_required"), json!({ "inputRequests": { "who": question("Who?") } })),
        2 => with(
            task("input_required"),
            json!({ "inputRequests": { "who": question("Who?"), "why": question("Why?") } }),
        ),
        3 => task("working"),
        _ => with(task("completed"), json!({ "result": words("done") })),
    })
    .await;
    let connection = connect(&server).await;
    let person = Arc::new(Person::default());
    let options = CallOptions { elicitation_handler: Some(person.clone()), ..CallOptions::default() };
    assert_eq!(call(&connection, options).await.unwrap(), "done");
    assert_eq!(*person.0.lock().unwrap(), ["Who?", "Why?"]);
    let answered: BTreeMap<String, Value> = server
        .seen()
        .iter()
        .filter(|seen| seen.rpc() == "tasks/update")
        .flat_map(|seen| seen.body["params"]["inputResponses"].as_object().unwrap().clone())
        .collect();
    let accepted = json!({ "action": "accept", "content": { "a": "Ada" } });
    assert_eq!(json!(answered), json!({ "who": accepted, "why": accepted }));
}

#[tokio::test]
async fn a_task_that_wants_what_is_not_offered_is_given_up() {
    for (method, what) in [("sampling/createMessage", "sampling"), ("roots/list", "roots")] {
        let requests = json!({ "inputRequests": { "x": { "method": method, "params": {} } } });
        let server = modern_server(move |_| with(task("input_required"), requests.clone())).await;
        let connection = connect(&server).await;
        let options = CallOptions { elicitation_handler: Some(Arc::new(Person::default())), ..CallOptions::default() };
        let failed = call(&connection, options).await.unwrap_err();
        assert!(failed.to_string().contains(&format!("it asked for {what}, which w")), "{failed}");
        assert_eq!(until_seen(&server, "tasks/cancel").await.body["params"]["taskId"], "job 1");
    }
}

#[tokio::test]
async fn stop_reaches_the_task_and_going_away_does_not() {
    let server = modern_server(|_| task("working")).await;
    let connection = connect(&server).await;
    {
        let (sender, _known) = watch::channel(None);
        let options = CallOptions { on_task: Some(sender), ..CallOptions::default() };
        tokio::select! {
            ended = call(&connection, options) => panic!("it ended: {ended:?}"),
            _ = until_seen(&server, "tasks/get") => {}
        }
    }
    let cancel = CancellationToken::new();
    let options = CallOptions { cancel: cancel.clone(), ..CallOptions::default() };
    let task = Task::from_stored("job 1".to_owned(), TaskProtocol::Extension, None);
    let polled = server.methods().len();
    let stop = async {
        while server.methods().len() == polled {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert!(!server.methods().contains(&"tasks/cancel".to_owned()), "whoever goes away may come back");
        cancel.cancel();
    };
    let (stopped, ()) = tokio::join!(connection.resume_task(task, Duration::ZERO, options), stop);
    assert_eq!(stopped.unwrap_err().outcome(), Outcome::Stopped);
    let cancelled = until_seen(&server, "tasks/cancel").await;
    assert_eq!((cancelled.header("mcp-name"), &cancelled.body["params"]["taskId"]), (Some("job 1"), &json!("job 1")));
    assert!(!server.methods().contains(&"notifications/cancelled".to_owned()));
}

#[tokio::test]
async fn a_task_that_nobody_can_take_up_again_ends_with_whoever_waits_for_it() {
    let server = modern_server(|_| task("working")).await;
    let connection = connect(&server).await;
    tokio::select! {
        ended = call(&connection, CallOptions::default()) => panic!("it ended: {ended:?}"),
        _ = until_seen(&server, "tasks/get") => {}
    }
    until_seen(&server, "tasks/cancel").await;
}

#[tokio::test]
async fn a_task_is_taken_up_again_without_another_call() {
    let server = modern_server(|_| with(task("completed"), json!({ "result": words("done meanwhile") }))).await;
    let connection = connect(&server).await;
    assert_eq!(resume(&connection, Duration::from_hours(2)).await.unwrap(), "done meanwhile");
    assert!(!server.methods().contains(&"tools/call".to_owned()));
}

#[tokio::test]
async fn a_task_that_outlives_its_time_is_not_waited_for() {
    let kept = |ttl: Value| with(task("working"), json!({ "ttlMs": ttl }));
    let late = modern_server(move |_| kept(json!(60_000))).await;
    let late = resume(&connect(&late).await, Duration::from_hours(25)).await.unwrap_err();
    assert_eq!((late.outcome(), late.to_string().as_str()), (Outcome::Unknown, "did not finish its task in time"));
    let server = modern_server(move |_| kept(Value::Null)).await;
    let connection = connect(&server).await;
    let options = CallOptions { task_timeout: Duration::from_millis(400), ..CallOptions::default() };
    assert!(matches!(call(&connection, options).await.unwrap_err(), CallError::Unknown(Error::TaskExpired)));
}

#[tokio::test]
async fn a_task_may_take_longer_than_its_server_says_that_it_keeps_it() {
    let server = modern_server(|poll| match poll {
        0 | 1 => with(task("working"), json!({ "ttlMs": 60_000 })),
        _ => with(task("completed"), json!({ "result": words("late") })),
    })
    .await;
    assert_eq!(resume(&connect(&server).await, Duration::from_mins(30)).await.unwrap(), "late");
}

#[tokio::test]
async fn a_legacy_task_is_known_where_fastmcp_2_writes_it_too() {
    let server = legacy_server(offered(), json!("optional"), |seen| match seen.rpc() {
        "tools/call" => {
            let begun = json!({ "modelcontextprotocol.io/task": { "taskId": "1", "status": "working" } });
            seen.result(json!({ "content": [], "_meta": begun }))
        }
        "tasks/get" => seen.result(core("completed")),
        _ => seen.result(words("done")),
    })
    .await;
    assert_eq!(call(&connect(&server).await, CallOptions::default()).await.unwrap(), "done");
    // Whoever was not asked for a task speaks of something else.
    let server = legacy_server(offered(), json!("forbidden"), |seen| {
        let other = json!({ "modelcontextprotocol.io/task": { "taskId": "1", "status": "working" } });
        seen.result(json!({ "content": [{ "type": "text", "text": "at once" }], "_meta": other }))
    })
    .await;
    assert_eq!(call(&connect(&server).await, CallOptions::default()).await.unwrap(), "at once");
}

#[tokio::test]
async fn a_legacy_call_asks_to_be_a_task_where_the_tool_takes_it_and_only_there() {
    for support in ["required", "optional"] {
        let server = legacy_server(offered(), json!(support), |seen| match seen.rpc() {
            "tools/call" => seen.result(json!({ "task": core("working") })),
            "tasks/get" => seen.result(core("completed")),
            _ => seen.result(words("done")),
        })
        .await;
        let connection = connect(&server).await;
        assert_eq!(call(&connection, CallOptions::default()).await.unwrap(), "done");
        let seen = server.seen();
        let params = |method: &str| seen.iter().find(|seen| seen.rpc() == method).unwrap().body["params"].clone();
        assert_eq!(params("tools/call")["task"], json!({ "ttl": 86_400_000 }));
        assert_eq!((&params("tools/call")["name"], &params("tasks/result")["taskId"]), (&json!("work"), &json!("1")));
    }
    for (tasks, support) in
        [(json!({ "requests": {} }), json!("required")), (offered(), json!("forbidden")), (offered(), Value::Null)]
    {
        let server = legacy_server(tasks, support, |seen| seen.result(words("at once"))).await;
        let connection = connect(&server).await;
        assert_eq!(call(&connection, CallOptions::default()).await.unwrap(), "at once");
        assert!(server.seen().last().unwrap().body["params"].get("task").is_none());
    }
}

#[tokio::test]
async fn a_legacy_task_ends_with_what_its_call_would_have_ended_with() {
    let server = legacy_server(offered(), json!("required"), |seen| match seen.rpc() {
        "tools/call" => seen.result(json!({ "task": core("working") })),
        "tasks/get" => seen.result(core("failed")),
        _ => seen.error(200, -32000, "no paper"),
    })
    .await;
    let failed = call(&connect(&server).await, CallOptions::default()).await.unwrap_err();
    assert_eq!((failed.outcome(), failed.to_string().contains("no paper")), (Outcome::Error, true));
}

#[tokio::test]
async fn a_legacy_task_reports_progress_and_asks_over_the_request_for_its_result() {
    let (events, receiver) = mpsc::channel(8);
    let (receiver, token, request) = (Mutex::new(Some(receiver)), Mutex::default(), Mutex::default());
    let script = legacy_script(offered(), json!("required"), |_| unreachable!());
    let server = Server::start(move |seen| {
        let send = |message: Value| events.try_send(event(&with(message, json!({ "jsonrpc": "2.0" })))).unwrap();
        match seen.rpc() {
            "tools/call" => {
                *token.lock().unwrap() = seen.body["params"]["_meta"]["progressToken"].clone();
                seen.result(json!({ "task": core("working") }))
            }
            "tasks/get" => seen.result(core("input_required")),
            "tasks/result" if seen.body["params"]["taskId"] == "1" => {
                *request.lock().unwrap() = seen.body["id"].clone();
                let progress =
                    json!({ "progressToken": Value::clone(&token.lock().unwrap()), "progress": 3, "message": "at it" });
                send(json!({ "method": "notifications/progress", "params": progress }));
                let related = json!({ "io.modelcontextprotocol/related-task": { "taskId": "1" } });
                let schema = json!({ "type": "object", "properties": { "a": { "type": "string", "default": "b" } } });
                let question = json!({ "message": "Which?", "_meta": related, "requestedSchema": schema });
                send(json!({ "id": "q", "method": "elicitation/create", "params": question }));
                Reply::Events(receiver.lock().unwrap().take().unwrap())
            }
            "tasks/result" => Reply::Silence,
            _ if seen.body["id"] == "q" => {
                let said = seen.body["result"].to_string();
                send(json!({ "id": Value::clone(&request.lock().unwrap()), "result": words(&said) }));
                Reply::status(202)
            }
            _ => script(seen),
        }
    })
    .await;
    let connection = connect(&server).await;
    let (first, last) = (Arc::new(Person::default()), Arc::new(Person::default()));
    let (sender, mut reports) = mpsc::channel(4);
    let options =
        CallOptions { elicitation_handler: Some(first.clone()), on_progress: Some(sender), ..CallOptions::default() };
    // Another call that was begun later would get a question that names no task.
    let other = async {
        until_seen(&server, "tools/call").await;
        let options = CallOptions { elicitation_handler: Some(last.clone()), ..CallOptions::default() };
        let task = Task::from_stored("2".to_owned(), TaskProtocol::Core, None);
        connection.resume_task(task, Duration::ZERO, options).await
    };
    tokio::select! {
        said = call(&connection, options) => {
            let said: Value = serde_json::from_str(&said.unwrap()).unwrap();
            assert_eq!(said, json!({ "action": "accept", "content": { "a": "b" } }));
        }
        ended = other => panic!("the other ended: {ended:?}"),
    }
    assert_eq!(reports.recv().await.unwrap().message.as_deref(), Some("at it"));
    assert_eq!((first.0.lock().unwrap().len(), last.0.lock().unwrap().len()), (1, 0));
}

#[tokio::test]
async fn a_word_of_the_server_is_as_good_as_asking_again() {
    let (events, receiver) = mpsc::channel(8);
    let receiver = Mutex::new(Some(receiver));
    let polls = AtomicUsize::new(0);
    let rest = legacy_script(offered(), json!("required"), move |seen| match seen.rpc() {
        "tools/call" => seen.result(json!({ "task": core("working") })),
        "tasks/get" if polls.fetch_add(1, Ordering::SeqCst) == 0 => {
            // Whoever only asks as often as it is told to asks again after a minute.
            let slow = with(core("working"), json!({ "pollIntervalMs": 3_600_000 }));
            let changed =
                json!({ "jsonrpc": "2.0", "method": "notifications/tasks/status", "params": core("completed") });
            events.try_send(event(&changed)).unwrap();
            seen.result(with(slow, json!({ "ttlMs": 3_600_000 })))
        }
        "tasks/get" => seen.result(core("completed")),
        _ => seen.result(words("done")),
    });
    let server = Server::start(move |seen| match (seen.method.as_str(), seen.rpc()) {
        ("GET", _) => receiver.lock().unwrap().take().map_or_else(|| Reply::status(405), Reply::Events),
        (_, "initialize") => rest(seen).with("mcp-session-id", "1"),
        _ => rest(seen),
    })
    .await;
    let connection = connect(&server).await;
    let said = tokio::time::timeout(PATIENCE, call(&connection, CallOptions::default())).await;
    assert_eq!(said.expect("it was told").unwrap(), "done");
}
