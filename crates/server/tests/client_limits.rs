//! Clients that do the worst they can, over real sockets.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use reqwest::Method;
use serde_json::json;
use testkit::{
    CallAnswer, Person, ScriptedMcp, ScriptedModel, Step, TestApp, http_client, send_message, temporary_error,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use crate::program::Program;

/// Number of clients of each kind.
const CLIENTS: usize = 500;
const MEBIBYTE: usize = 1024 * 1024;

async fn connect(url: &str) -> TcpStream {
    TcpStream::connect(url.strip_prefix("http://").unwrap()).await.unwrap()
}

/// Raises the limit on open files of this process and of those that it starts later.
fn allow_files(most: usize) {
    let arguments = [format!("--pid={}", std::process::id()), format!("--nofile={most}:")];
    assert!(std::process::Command::new("prlimit").args(arguments).status().unwrap().success());
}

/// Returns everything that a socket receives until it is closed.
async fn answer_of(mut socket: TcpStream) -> String {
    let mut answer = Vec::new();
    drop(socket.read_to_end(&mut answer).await);
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn crowds_that_do_not_read_or_end_nothing_cost_little_and_hold_up_nobody() {
    allow_files(8 * CLIENTS);
    // As much as is stored in the message itself, fifty times: 3 MiB in the stream.
    let result = json!({ "content": [{ "type": "text", "text": "r".repeat(62_000) }] });
    let server = ScriptedMcp::start([json!({ "name": "read" })]).await;
    server.answer_by(move |_| Some(CallAnswer::Result(result.clone())));
    let calls = Step::Calls(vec![("read".into(), json!({})); 50]);
    let model = ScriptedModel::start([calls, Step::Hang("Well".into())]).await;
    let limits = [
        ("CHAT_MAX_STREAMS_PER_USER", "600"),
        ("CHAT_MAX_SOCKETS_PER_ADDRESS", "10000"),
        ("CHAT_NETWORK_ALLOW", "127.0.0.1"),
    ];
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
        // Subscribers that never read.
        format!("{}\r\n", head(&format!("GET /api/sessions/{chat}/stream"))),
        // Headers and bodies that do not end, and unused connections.
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
    // The subscribers' buffers are full: each client has read the headers of its response only.
    for socket in &mut sockets[..CLIENTS] {
        let mut status = [0; 12];
        socket.read_exact(&mut status).await.unwrap();
        // With so many requests at once, some may get 503.
        while &status == b"HTTP/1.1 503" {
            *socket = connect(&program.url).await;
            socket.write_all(beginnings[0].as_bytes()).await.unwrap();
            socket.read_exact(&mut status).await.unwrap();
        }
        assert_eq!(&status, b"HTTP/1.1 200");
    }
    // Another user is served as usual.
    let person = Person::sign_up_at(&program.url, &http_client()).await;
    model.push(Step::Text("Here you are.".into()));
    let chat = person.new_chat().await;
    let (status, answer) = person.ask(&chat, "Are you there?", json!([])).await;
    assert_eq!((status.as_u16(), &answer["content"]), (200, &json!("Here you are.")));
    // Without limits, each subscriber would occupy 3 MiB.
    let grown = program.memory().saturating_sub(before);
    assert!(grown < 300 * MEBIBYTE, "{} MiB for {} clients", grown / MEBIBYTE, sockets.len());
    drop(sockets);
}

#[tokio::test]
async fn who_finds_no_place_is_told_and_finds_one_later() {
    let app = TestApp::builder().set("CHAT_MAX_SOCKETS", "5").set("CHAT_MAX_SOCKETS_PER_ADDRESS", "5").start().await;
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
    let app = TestApp::builder()
        .set("OPENAI_BASE_URL", &model.base_url)
        .set("CHAT_MAX_BODIES_MIB", "1")
        .set("CHAT_MAX_BODIES_MIB_PER_ADDRESS", "1")
        .start()
        .await;
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
        // Repeats until the bodies in progress have been received.
        let body = json!({ "message": words, "sessionId": chat, "tools": "not a list" });
        let answer = person.request(Method::POST, "/functions/v1/ai-chat").json(&body).send().await.unwrap();
        if answer.status() != 400 {
            break temporary_error(answer, 429).await;
        }
    };
    assert_eq!(code, "too_many_bodies");
    assert_eq!(app.http.get(format!("{}/health/ready", app.url)).send().await.unwrap().status(), 200);
    drop(hoarder);
    loop {
        let answer = send_message(&person, &chat, &words).await;
        if answer.status() == 200 {
            assert!(answer.text().await.unwrap().contains("Hello."));
            break;
        }
        temporary_error(answer, 429).await;
    }
    app.stop().await;
}

/// Another address of this machine than that of all other clients.
const ATTACKER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

async fn connect_from(address: Ipv4Addr, url: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((address, 0).into()).unwrap();
    socket.connect(url.strip_prefix("http://").unwrap().parse::<SocketAddr>().unwrap()).await.unwrap()
}

/// Begins requests with bodies of `length` bytes that never end, and returns the sockets that hold them open.
async fn send_endless_bodies(url: &str, head: &str, length: usize, count: usize) -> Vec<TcpStream> {
    let head = format!(
        "{head} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    );
    let send = async || {
        let mut socket = connect_from(ATTACKER, url).await;
        let body = [head.as_bytes(), &vec![b' '; length - 1]].concat();
        // A rejected connection is closed before everything is sent.
        drop(tokio::time::timeout(Duration::from_secs(10), socket.write_all(&body)).await);
        socket
    };
    futures_util::future::join_all((0..count).map(|_| send())).await
}

#[tokio::test(flavor = "multi_thread")]
async fn endless_bodies_from_one_address_hold_up_nobody_else() {
    let model = ScriptedModel::start([Step::Text("Hello.".into())]).await;
    let app = TestApp::builder().set("OPENAI_BASE_URL", &model.base_url).start().await;
    let person = app.person().await;
    let bodies = [
        // The built-in MCP servers accept short messages only, and the auth API 1 MiB.
        send_endless_bodies(&app.url, "POST /mcp/toolbox", 2 * MEBIBYTE, 127).await,
        send_endless_bodies(&app.url, "POST /auth/v1/signup", MEBIBYTE, 270).await,
    ];
    let sign_in = format!("{}/auth/v1/token?grant_type=password", app.url);
    let credentials = json!({ "email": person.email, "password": "correct horse" });
    for _ in 0..5 {
        let answer = app.http.post(&sign_in).json(&credentials).send().await.unwrap();
        assert_eq!(answer.status(), 200);
    }
    let chat = person.new_chat().await;
    let (status, answer) = person.ask(&chat, "Are you there?", json!([])).await;
    assert_eq!((status.as_u16(), &answer["content"]), (200, &json!("Hello.")));
    drop(bodies);
    app.stop().await;
}

#[tokio::test]
async fn one_address_has_a_share_of_the_sockets() {
    let app = TestApp::builder().set("CHAT_MAX_SOCKETS", "9").start().await;
    let request = "GET /health/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let mut open = Vec::new();
    for _ in 0..3 {
        open.push(connect_from(ATTACKER, &app.url).await);
    }
    let mut fourth = connect_from(ATTACKER, &app.url).await;
    fourth.write_all(request.as_bytes()).await.unwrap();
    assert!(answer_of(fourth).await.starts_with("HTTP/1.1 503 "));
    let mut other = connect(&app.url).await;
    other.write_all(request.as_bytes()).await.unwrap();
    assert!(answer_of(other).await.starts_with("HTTP/1.1 200 "));
    drop(open);
    app.stop().await;
}

#[tokio::test]
async fn a_trusted_proxy_is_counted_by_the_addresses_behind_it() {
    let app = TestApp::builder()
        .set("CHAT_MAX_SOCKETS", "9")
        .set("CHAT_MAX_BODIES_MIB", "3")
        .set("CHAT_TRUSTED_PROXIES", "127.0.0.2")
        .start()
        .await;
    let begin = async |client: &str| {
        let mut socket = connect_from(ATTACKER, &app.url).await;
        let head = format!(
            "POST /auth/v1/signup HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: {client}\r\nContent-Length: 900000\r\n\r\n"
        );
        socket.write_all(head.as_bytes()).await.unwrap();
        socket.write_all(&vec![b' '; 700_000]).await.unwrap();
        socket
    };
    // More than one address may have, in sockets and in bytes.
    let (mut first, second) = (begin("2001:db8::1").await, begin("2001:db8::2").await);
    let refused = tokio::select! {
        refused = answer_of(second) => refused,
        answer = async { let mut status = [0; 12]; first.read_exact(&mut status).await.unwrap(); status } => {
            String::from_utf8_lossy(&answer).into_owned()
        }
    };
    assert!(refused.starts_with("HTTP/1.1 429"), "they are in one network of 64 bits: {refused}");
    let mut others = Vec::new();
    for client in ["198.51.100.1", "198.51.100.2"] {
        others.push(begin(client).await);
    }
    let mut last = connect_from(ATTACKER, &app.url).await;
    last.write_all(b"GET /health/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").await.unwrap();
    assert!(answer_of(last).await.starts_with("HTTP/1.1 200 "), "its connections have no share of their own");
    drop(others);
    app.stop().await;
}
