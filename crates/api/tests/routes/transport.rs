//! Requests that violate HTTP itself, on every route.

use std::time::Duration;

use http_server::route::{Access, Entry};
use testkit::Database;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::examples::examples;
use super::fixture::{Fixture, People};

/// Maximum time until a response or the end of the connection.
const BOUND: Duration = Duration::from_secs(20);

/// The request after its first line, and whether the client then closes its side.
const BROKEN: [(&str, &str, bool); 9] = [
    ("a length that is no number", "Content-Length: x\r\n\r\n{}", false),
    ("a negative length", "Content-Length: -1\r\n\r\n{}", false),
    ("a length beyond all numbers", "Content-Length: 99999999999999999999999\r\n\r\n{}", false),
    ("two lengths", "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", false),
    ("a length and chunks", "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", false),
    ("less than its length", "Content-Length: 100\r\n\r\n{\"a\":", true),
    ("chunks that break off", "Transfer-Encoding: chunked\r\n\r\n5\r\n{\"a\":", true),
    ("a chunk of no size", "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n", false),
    ("a header without a name", ": x\r\n\r\n", false),
];

#[tokio::test(flavor = "multi_thread")]
async fn broken_requests_are_refused_or_cut_off() {
    let fixture = Fixture::new(Database::of_environment()).await;
    let people = People::new(&fixture).await;
    for entry in api::entries() {
        let ways = BROKEN.iter().map(|(name, rest, closes)| send(&fixture, &entry, &people, name, rest, *closes));
        futures_util::future::join_all(ways).await;
    }
    fixture.app.stop().await;
}

async fn send(fixture: &Fixture, entry: &Entry, people: &People, name: &str, rest: &str, closes: bool) {
    let path = examples(entry, people).swap_remove(0).path;
    let at = format!("{} {path} with {name}", entry.method);
    let head = format!(
        "{} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAuthorization: Bearer {}\r\n{rest}",
        entry.method, people.owner.token,
    );
    let mut stream = TcpStream::connect(fixture.app.url.strip_prefix("http://").unwrap()).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    if closes {
        stream.shutdown().await.unwrap();
    }
    let mut first = [0; 16];
    let read = tokio::time::timeout(BOUND, stream.read(&mut first)).await;
    // The end of the connection is valid, too, even by a reset.
    let read = read.unwrap_or_else(|_| panic!("{at}: no answer")).unwrap_or(0);
    let status = String::from_utf8_lossy(&first[..read]).into_owned();
    assert!(status.is_empty() || status.starts_with("HTTP/1.1 "), "{at}: {status}");
    assert!(!status.starts_with("HTTP/1.1 5"), "{at}: {status}");
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_are_refused_before_their_bodies_are_read() {
    let fixture = Fixture::new(Database::of_environment()).await;
    let people = People::new(&fixture).await;
    let writes =
        |entry: &Entry| entry.access != Access::Anyone && matches!(entry.method.as_str(), "POST" | "PUT" | "PATCH");
    let entries = api::entries().into_iter().filter(writes);
    let (url, people) = (&fixture.app.url, &people);
    let refused = entries.map(|entry| async move {
        let path = examples(&entry, people).swap_remove(0).path;
        let at = format!("{} {path}", entry.method);
        let mut stream = TcpStream::connect(url.strip_prefix("http://").unwrap()).await.unwrap();
        let head = format!(
            "{at} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{{"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut status = [0; 12];
        // A server that waits for the body closes the connection after 15 seconds.
        let read = tokio::time::timeout(Duration::from_secs(10), stream.read_exact(&mut status)).await;
        read.unwrap_or_else(|_| panic!("{at}: no answer before the body")).unwrap();
        let status = String::from_utf8_lossy(&status).into_owned();
        assert!(matches!(status.as_str(), "HTTP/1.1 401" | "HTTP/1.1 403"), "{at}: {status}");
    });
    futures_util::future::join_all(refused).await;
    fixture.app.stop().await;
}
