use super::*;
use crate::net::NetworkPolicy;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n and so on";

fn guard() -> GuardedHttp {
    GuardedHttp::new(NetworkPolicy::new(&[], true, vec![])).unwrap()
}

fn usable(src: &str, server: &str) -> bool {
    is_usable(src, &server.parse().unwrap())
}

#[test]
fn permits_own_origin_over_tls_only() {
    let server = "https://mcp.example/mcp";
    assert!(usable("https://mcp.example/icons/a.png?size=48", server));
    assert!(usable("https://mcp.example:443/a.png", server));
    assert!(usable("https://mcp.example/a.png", "wss://mcp.example/socket"));
    for src in [
        "http://mcp.example/a.png",
        "https://cdn.example/a.png",
        "https://mcp.example.evil.example/a.png",
        "https://mcp.example:8443/a.png",
        "https://me:secret@mcp.example/a.png",
        "https://mcp.example@evil.example/a.png",
        "//mcp.example/a.png",
        "/a.png",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "blob:https://mcp.example/1",
        "",
    ] {
        assert!(!usable(src, server), "{src}");
    }
    let same_host_without_tls = "http://mcp.example/a.png";
    assert!(!usable(same_host_without_tls, "http://mcp.example/mcp"));
    assert!(!usable(&format!("https://mcp.example/{}", "a".repeat(MAX_URL_BYTES)), server));
}

#[test]
fn data_url_has_to_match_its_media_type() {
    let data = |kind: &str, bytes: &[u8]| format!("data:{kind};base64,{}", STANDARD.encode(bytes));
    let server = "http://127.0.0.1:1/mcp";
    assert!(usable(&data("image/png", PNG), server));
    assert!(usable(&data("image/jpeg", b"\xff\xd8\xff\xe0"), server));
    assert!(usable(&data("image/webp", b"RIFF\0\0\0\0WEBP"), server));
    for src in [
        data("image/jpeg", PNG),
        data("image/svg+xml", b"<svg onload='alert(1)'/>"),
        data("image/png", b"<html>"),
        data("text/html", PNG),
        data("image/png", &[PNG, &vec![0; MAX_DATA_URL_BYTES]].concat()),
        "data:image/png,plain".to_owned(),
        "data:".to_owned(),
    ] {
        assert!(!usable(&src, server), "{src:.60}");
    }
}

#[test]
fn keeps_few_icons_per_object() {
    let icon = |n: usize| Icon { src: format!("https://a.example/{n}"), mime_type: None, sizes: vec![], theme: None };
    let mut icons: Vec<Icon> = (0..50).map(icon).collect();
    icons.insert(0, Icon { src: "http://other.example/".into(), ..icon(0) });
    retain_usable(&mut icons, &"https://a.example/mcp".parse().unwrap());
    assert_eq!((icons.len(), icons[0].src.as_str()), (MAX_ICONS, "https://a.example/0"));
}

/// A server that answers everything with these bytes; tells the requests that it got.
async fn answering(head: &'static str, body: Vec<u8>) -> (Url, tokio::sync::mpsc::UnboundedReceiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/icon.png", listener.local_addr().unwrap()).parse().unwrap();
    let (sender, requests) = tokio::sync::mpsc::unbounded_channel();
    #[expect(clippy::disallowed_methods, reason = "goes away with the test's runtime")]
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut request = vec![0; 4096];
            let length = socket.read(&mut request).await.unwrap_or(0);
            let _ = sender.send(String::from_utf8_lossy(&request[..length]).into_owned());
            let _ = socket.write_all(head.as_bytes()).await;
            let _ = socket.write_all(&body).await;
        }
    });
    (url, requests)
}

async fn refused(head: &'static str, body: Vec<u8>) -> String {
    let (url, _requests) = answering(head, body).await;
    download_image(&guard(), &url).await.unwrap_err().to_string()
}

#[tokio::test]
async fn fetches_without_credentials_or_referrer() {
    let (url, mut requests) =
        answering("HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\n\r\n", PNG.to_vec()).await;
    let picture = download_image(&guard(), &url).await.unwrap();
    // What the server says of its kind counts for nothing.
    assert_eq!((picture.mime_type, &picture.bytes[..]), ("image/png", PNG));
    let request = requests.recv().await.unwrap().to_ascii_lowercase();
    assert!(!request.contains("authorization") && !request.contains("cookie") && !request.contains("referer"));
}

#[tokio::test]
async fn rejects_content_that_is_no_image() {
    let page = "HTTP/1.1 200 OK\r\ncontent-type: image/png\r\nconnection: close\r\n\r\n";
    let no_picture = "the icon is not a PNG, JPEG, WebP or GIF image";
    assert_eq!(refused(page, b"<html><script>alert(1)</script>".to_vec()).await, no_picture);
    assert_eq!(refused(page, b"<svg xmlns='http://www.w3.org/2000/svg'/>".to_vec()).await, no_picture);
    assert_eq!(refused(page, b"\x89PNX\r\n\x1a\n".to_vec()).await, no_picture);
    assert_eq!(refused(page, vec![]).await, no_picture);
}

#[tokio::test]
async fn rejects_image_over_the_limit() {
    let endless = [PNG, &vec![0; 2 * MAX_ICON_BYTES]].concat();
    let said = refused("HTTP/1.1 200 OK\r\ncontent-type: image/png\r\nconnection: close\r\n\r\n", endless).await;
    assert_eq!(said, "the icon's server sent more than 262144 bytes");
    let announced = "HTTP/1.1 200 OK\r\ncontent-type: image/png\r\ncontent-length: 52428800\r\n\r\n";
    assert_eq!(refused(announced, PNG.to_vec()).await, "the icon's server sent more than 262144 bytes");
}

#[tokio::test]
async fn does_not_follow_redirects_to_other_origins() {
    let (elsewhere, mut asked) = answering("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n", PNG.to_vec()).await;
    for status in ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"] {
        let head =
            format!("HTTP/1.1 {status}\r\nlocation: {elsewhere}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        let said = refused(head.leak(), vec![]).await;
        assert!(said.starts_with("the icon's server redirects to another URL"), "{status}: {said}");
    }
    assert!(asked.try_recv().is_err(), "the other origin was asked");
}
