//! The command `health`.

use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::program::{Program, free_address, run};

#[tokio::test]
async fn is_ready_once_the_server_is() {
    let program = Program::start("http://127.0.0.1:1", &[]);
    program.until_ready(200).await;
    let address = program.url.strip_prefix("http://").unwrap();
    let port = address.rsplit_once(':').unwrap().1;
    let folder = program.folder.path();
    let ready = (0, "ready\n".to_owned(), String::new());
    assert_eq!(run(folder, &[("CHAT_LISTEN", address)], &["health"]), ready);
    assert_eq!(run(folder, &[("CHAT_LISTEN", &format!("0.0.0.0:{port}"))], &["health"]), ready);
    assert_eq!(run(folder, &[], &["health", "--url", &program.url]), ready);
    // A proxy of the environment is not asked.
    assert_eq!(run(folder, &[("http_proxy", "http://127.0.0.1:1")], &["health", "--url", &program.url]), ready);
}

#[tokio::test]
async fn tells_in_one_line_why_a_server_is_not_ready() {
    let folder = TempDir::new().unwrap();
    let nowhere = format!("http://{}", free_address());
    let (code, out, _) = run(folder.path(), &[], &["health", "--url", &nowhere]);
    assert_eq!(code, 1);
    assert!(out.starts_with("not ready: ") && out.contains("cannot be reached"), "{out}");
    assert_eq!(out.lines().count(), 1);

    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let refuse = async {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            request.push(socket.read_u8().await.unwrap());
        }
        let answer = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 12\r\n\r\nthe database";
        socket.write_all(answer.as_bytes()).await.unwrap();
        // Open until the client has read the answer.
        socket
    };
    let path = folder.path().to_owned();
    let asked = tokio::task::spawn_blocking(move || run(&path, &[], &["health", "--url", &url]));
    let (_socket, asked) = tokio::join!(refuse, asked);
    assert_eq!(asked.unwrap(), (1, "not ready: the database (503)\n".to_owned(), String::new()));
}

#[tokio::test]
async fn does_not_wait_for_a_server_that_does_not_answer() {
    let folder = TempDir::new().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (code, out, _) = run(folder.path(), &[], &["health", "--url", &url]);
    assert_eq!(code, 1);
    assert!(out.contains("did not answer within 3 seconds"), "{out}");
}

#[test]
fn rejects_what_is_no_address() {
    let folder = TempDir::new().unwrap();
    assert_eq!(run(folder.path(), &[], &["health", "--url", "localhost"]).0, 2);
    let (code, _, error) = run(folder.path(), &[], &["health", "--url", "ftp://localhost"]);
    assert_eq!(code, 1);
    assert!(error.contains("http:// or https://"), "{error}");
    let (code, out, _) = run(folder.path(), &[], &["health", "--help"]);
    assert_eq!(code, 0);
    assert!(out.contains("Exit codes: 0 the server is ready"), "{out}");
}
