//! Downloads from servers that behave, and from others.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::http::header::{CONTENT_LENGTH, CONTENT_RANGE, RANGE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use local_model::weights::DEFAULT_WEIGHTS;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;

const BYTES: usize = 300_000;

fn file() -> Vec<u8> {
    (0..BYTES).map(|index| (index * 7 % 251) as u8).collect()
}

fn weights() -> WeightFile {
    let mut digest = Digest::new();
    digest.update(&file());
    WeightFile { file_name: "test.gguf", size: BYTES as u64, sha256: digest.finish().leak(), ..DEFAULT_WEIGHTS }
}

/// How a mirror behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    Whole,
    /// It knows no ranges.
    NoRanges,
    /// It has another file.
    Longer,
    /// It has a file of the same length that says something else.
    Forged,
}

/// What a mirror was asked for: the `Range` of each request.
type Asked = Arc<Mutex<Vec<Option<String>>>>;

async fn answer(State((manner, asked)): State<(Manner, Asked)>, headers: HeaderMap) -> Response {
    let range = headers.get(RANGE).map(|range| range.to_str().unwrap().to_owned());
    asked.lock().unwrap().push(range.clone());
    let mut bytes = file();
    match manner {
        Manner::Longer => bytes.push(0),
        Manner::Forged => bytes[0] ^= 1,
        _ => {}
    }
    let start = range.and_then(|range| range.strip_prefix("bytes=")?.strip_suffix('-')?.parse::<usize>().ok());
    let start = start.filter(|_| manner != Manner::NoRanges);
    let status = if start.is_some() { StatusCode::PARTIAL_CONTENT } else { StatusCode::OK };
    let rest = bytes[start.unwrap_or(0)..].to_vec();
    let length = rest.len();
    let range = format!("bytes {}-{}/{}", start.unwrap_or(0), bytes.len() - 1, bytes.len());
    (status, [(CONTENT_LENGTH, length.to_string()), (CONTENT_RANGE, range)], rest).into_response()
}

async fn mirror(manner: Manner) -> (String, Asked) {
    let asked = Asked::default();
    let router = Router::new().fallback(answer).with_state((manner, asked.clone()));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/weights?token=secret", listener.local_addr().unwrap());
    #[expect(clippy::disallowed_methods, reason = "a server of this test, which ends with it")]
    drop(tokio::spawn(async move { axum::serve(listener, router).await }));
    (address, asked)
}

/// A mirror that hangs up in the middle, once what it has sent is on its way.
async fn hangs_up() -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/weights?token=secret", listener.local_addr().unwrap());
    #[expect(clippy::disallowed_methods, reason = "a server of this test, which ends with it")]
    drop(tokio::spawn(async move {
        let (mut connection, _) = listener.accept().await.unwrap();
        let mut asked = Vec::new();
        while !asked.ends_with(b"\r\n\r\n") {
            asked.push(connection.read_u8().await.unwrap());
        }
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {BYTES}\r\n\r\n");
        connection.write_all(&[head.as_bytes(), &file()[..BYTES / 2]].concat()).await.unwrap();
        connection.shutdown().await.unwrap();
    }));
    address
}

async fn fails(from: &str, folder: &Path) -> String {
    format!("{:#}", fetch(&weights(), from, folder).await.unwrap_err())
}

#[tokio::test]
async fn a_download_that_broke_off_is_taken_up() {
    let folder = tempfile::tempdir().unwrap();
    let reason = fails(&hangs_up().await, folder.path()).await;
    assert!(reason.contains("goes on from there") && !reason.contains("secret"), "{reason}");
    let kept = folder.path().join("test.gguf.part").metadata().unwrap().len();
    assert!(kept > 0 && !folder.path().join("test.gguf").exists());

    let (whole, asked) = mirror(Manner::Whole).await;
    fetch(&weights(), &whole, folder.path()).await.unwrap();
    assert_eq!(*asked.lock().unwrap(), [Some(format!("bytes={kept}-"))]);
    assert_eq!(fs::read(folder.path().join("test.gguf")).unwrap(), file());
    assert!(!folder.path().join("test.gguf.part").exists());

    fetch(&weights(), &whole, folder.path()).await.unwrap();
    assert_eq!(asked.lock().unwrap().len(), 1, "what is there is not fetched again");
}

#[tokio::test]
async fn a_mirror_without_ranges_begins_again() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("test.gguf.part"), &file()[..1_000]).unwrap();
    let (from, _) = mirror(Manner::NoRanges).await;
    fetch(&weights(), &from, folder.path()).await.unwrap();
    assert_eq!(fs::read(folder.path().join("test.gguf")).unwrap(), file());
}

#[tokio::test]
async fn another_file_is_refused_by_its_length_and_by_its_hash() {
    let folder = tempfile::tempdir().unwrap();
    let (longer, _) = mirror(Manner::Longer).await;
    let reason = fails(&longer, folder.path()).await;
    assert!(reason.contains("300001 bytes") && reason.contains("--from"), "{reason}");

    let (forged, _) = mirror(Manner::Forged).await;
    let reason = fails(&forged, folder.path()).await;
    assert!(reason.contains("SHA-256") && reason.contains("thrown away"), "{reason}");
    assert!(!folder.path().join("test.gguf").exists() && !folder.path().join("test.gguf.part").exists());
}

#[tokio::test]
async fn a_file_that_is_there_and_wrong_is_named_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("test.gguf"), &file()[..1_000]).unwrap();
    let reason = fails("http://127.0.0.1:9/never-asked", folder.path()).await;
    assert!(reason.contains("has 1000 bytes and should have 300000") && reason.contains("Delete it"), "{reason}");
    let mut forged = file();
    forged[9] ^= 1;
    fs::write(folder.path().join("test.gguf"), forged).unwrap();
    let reason = fails("http://127.0.0.1:9/never-asked", folder.path()).await;
    assert!(reason.contains("SHA-256"), "{reason}");
}
