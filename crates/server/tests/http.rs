//! What costs the server a connection, and for how long.

use testkit::TestApp;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

#[tokio::test]
async fn who_sends_nothing_more_is_let_go() {
    let app = TestApp::start().await;
    let person = app.person().await;
    let half_sent = format!(
        "POST /api/tools/run HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {}\r\nContent-Length: 9\r\n\r\n{{",
        person.token
    );
    // The beginnings of HTTP/1 and HTTP/2 look alike.
    let beginnings = ["", "GET / HTTP/1.1\r\nHo", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "P", &half_sent];
    let ends = beginnings.map(|beginning| {
        let address = app.url.strip_prefix("http://").unwrap();
        async move {
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.write_all(beginning.as_bytes()).await.unwrap();
            let mut answer = Vec::new();
            // It ends, be it with a reset.
            drop(stream.read_to_end(&mut answer).await);
            String::from_utf8_lossy(&answer).into_owned()
        }
    });
    let answers = futures_util::future::join_all(ends).await;
    assert!(answers[4].starts_with("HTTP/1.1 400 "), "{answers:?}");
    app.stop().await;
}
