//! Clients that do the worst they can, over real sockets.

use reqwest::Method;
use serde_json::json;
use testkit::{CallAnswer, Person, ScriptedMcp, ScriptedModel, Step, TestApp, http_client};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{ask, refused};
use crate::program::Program;

/// Clients of one kind.
const CLIENTS: usize = 500;
const MEBIBYTE: usize = 1024 * 1024;

async fn connect(url: &str) -> TcpStream {
    TcpStream::connect(url.strip_prefix("http://").unwrap()).await.unwrap()
}

/// Lets this process, and what it starts from here on, have so many files open.
fn allow_files(most: usize) {
    let arguments = [format!("--pid={}", std::process::id()), format!("--nofile={most}:")];
    assert!(std::process::Command::new("prlimit").args(arguments).status().unwrap().success());
}

/// What a socket is answered until it ends.
async fn answer_of(mut socket: TcpStream) -> String {
    let mut answer = Vec::new();
    drop(socket.read_to_end(&mut answer).await);
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn crowds_that_do_not_read_or_end_nothing_cost_little_and_hold_up_nobody() {
    allow_files(8 * CLIENTS);
    // What stands in a message itself, fifty times: 3 MiB in the stream.
    let result = json!({ "content": [{ "type": "text", "text": "r".repeat(62_000) }] });
    let server = ScriptedMcp::start([json!({ "name": "read" })]).await;
    server.answer_by(move |_| Some(CallAnswer::Result(result.clone())));
    let calls = Step::Calls(vec![("read".into(), json!({})); 50]);
    let model = ScriptedModel::start([calls, Step::Hang("Well".into())]).await;
    let limits = [("CHAT_MAX_STREAMS_PER_USER", "600"), ("CHAT_NETWORK_ALLOW", "127.0.0.1")];
    let program = Program::start(&model.base_url, &limits);
    program.until_ready(200).await;
    let crowd = Person::sign_up_at(&program.url, &http_client()).await;
    let connection = crowd.connect_to("files", &server.url).await;
    crowd.allow(&connection, "read", "always").await;
    let chat = crowd.new_chat().await;
    let tools = json!([{ "name": "read", "serverName": "files" }]);
    let mut watched = crowd.ask_streaming(&chat, "Read it", tools).await;
    let mut told = String::new();
    while !told.contains("Well") {
        told.push_str(&String::from_utf8_lossy(&watched.chunk().await.unwrap().unwrap()));
    }
    let before = program.memory();
    let head = |rest: &str| format!("{rest} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n", crowd.token);
    let beginnings = [
        // Viewers that never read.
        format!("{}\r\n", head(&format!("GET /api/sessions/{chat}/stream"))),
        // Heads and bodies that do not end, and connections that nobody uses.
        head("GET /api/connections"),
        format!("{}Content-Length: 1000000\r\n\r\n{}", head("POST /functions/v1/ai-chat"), " ".repeat(4096)),
        String::new(),
    ];
    let mut sockets = Vec::new();
    for beginning in &beginnings {
        for _ in 0..CLIENTS {
            let mut socket = connect(&program.url).await;
            socket.write_all(beginning.as_bytes()).await.unwrap();
            sockets.push(socket);
        }
    }
    // The viewers have been given all that they take: each has read the head of its answer and not more.
    for socket in &mut sockets[..CLIENTS] {
        let mut status = [0; 12];
        socket.read_exact(&mut status).await.unwrap();
        // Where so many come at once some may be asked to come back.
        while &status == b"HTTP/1.1 503" {
            *socket = connect(&program.url).await;
            socket.write_all(beginnings[0].as_bytes()).await.unwrap();
            socket.read_exact(&mut status).await.unwrap();
        }
        assert_eq!(&status, b"HTTP/1.1 200");
    }
    // Somebody else is served as ever.
    let person = Person::sign_up_at(&program.url, &http_client()).await;
    model.push(Step::Text("Here you are.".into()));
    let chat = person.new_chat().await;
    let (status, answer) = person.ask(&chat, "Are you there?", json!([])).await;
    assert_eq!((status.as_u16(), &answer["content"]), (200, &json!("Here you are.")));
    // Without bounds the viewers alone would be given 3 MiB each.
    let grown = program.memory().saturating_sub(before);
    assert!(grown < 300 * MEBIBYTE, "{} MiB for {} clients", grown / MEBIBYTE, sockets.len());
    drop(sockets);
}

#[tokio::test]
async fn who_finds_no_place_is_told_and_finds_one_later() {
    let app = TestApp::builder().set("CHAT_MAX_SOCKETS", "5").start().await;
    let mut open = Vec::new();
    for _ in 0..5 {
        open.push(connect(&app.url).await);
    }
    let request = "GET /health/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let ask = async || {
        let mut socket = connect(&app.url).await;
        socket.write_all(request.as_bytes()).await.unwrap();
        answer_of(socket).await
    };
    let answer = ask().await;
    assert!(answer.starts_with("HTTP/1.1 503 ") && answer.contains("Retry-After: 5\r\n"), "{answer}");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.ends_with(&format!("Content-Length: {}", body.len())), "{answer}");
    let body: serde_json::Value = serde_json::from_str(body).unwrap();
    assert_eq!(body["error"]["code"], "overloaded");
    drop(open.pop());
    while !ask().await.starts_with("HTTP/1.1 200 ") {
        tokio::task::yield_now().await;
    }
    drop(open);
    app.stop().await;
}

#[tokio::test]
async fn bodies_together_take_so_much_memory_and_no_more() {
    let model = ScriptedModel::start([Step::Text("Hello.".into())]).await;
    let app = TestApp::builder().set("OPENAI_BASE_URL", &model.base_url).set("CHAT_MAX_BODIES_MIB", "1").start().await;
    let person = app.person().await;
    let chat = person.new_chat().await;
    let mut hoarder = connect(&app.url).await;
    let token = &person.token;
    let head = format!(
        "POST /functions/v1/ai-chat HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nContent-Length: 2000000\r\n\r\n"
    );
    hoarder.write_all(head.as_bytes()).await.unwrap();
    hoarder.write_all(&vec![b' '; MEBIBYTE - 1000]).await.unwrap();
    let words = "w".repeat(100_000);
    let (code, _) = loop {
        // Until what was sent has been received.
        let body = json!({ "message": words, "sessionId": chat, "tools": "not a list" });
        let answer = person.request(Method::POST, "/functions/v1/ai-chat").json(&body).send().await.unwrap();
        if answer.status() != 400 {
            break refused(answer, 503).await;
        }
    };
    assert_eq!(code, "overloaded");
    assert_eq!(app.http.get(format!("{}/health/ready", app.url)).send().await.unwrap().status(), 200);
    drop(hoarder);
    loop {
        let answer = ask(&person, &chat, &words).await;
        if answer.status() == 200 {
            assert!(answer.text().await.unwrap().contains("Hello."));
            break;
        }
        refused(answer, 503).await;
    }
    app.stop().await;
}
