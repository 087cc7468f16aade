//! Uploads: accepted and rejected files, and how they are served.

use futures_util::future::join_all;
use serde_json::json;
use testkit::{Database, MockClock, TestApp, databases};

use super::fixture::{Fixture, PNG, bytes, delete, fetch, upload};

const MIB: usize = 1024 * 1024;

#[tokio::test]
async fn a_file_is_what_its_bytes_say_and_is_served_to_its_owner_alone() {
    for database in databases() {
        let fixture = Fixture::new(database).await;
        let stranger = fixture.app.person().await;
        let html = b"<script>alert(1)</script>".as_slice();
        for (content, said, name, kind, place) in [
            (PNG, "text/html", "a%20b.png", "image/png", "inline; filename*=UTF-8''a%20b.png"),
            (html, "image/png", "..%2Fx.html", "text/plain; charset=utf-8", "attachment; filename*=UTF-8''x.html"),
            (
                b"<svg onload='x'/>",
                "image/svg+xml",
                "x.svg",
                "text/plain; charset=utf-8",
                "attachment; filename*=UTF-8''x.svg",
            ),
            (
                b"# A",
                "text/markdown",
                "%C3%BC.md",
                "text/markdown; charset=utf-8",
                "attachment; filename*=UTF-8''%C3%BC.md",
            ),
            (b"%PDF-1.4 \xe2", "", "p.pdf", "application/pdf", "attachment; filename*=UTF-8''p.pdf"),
        ] {
            let (status, taken) = upload(&fixture.person, &format!("name={name}"), said, content).await;
            assert_eq!((status, &taken["size"]), (201, &json!(content.len())), "{taken}");
            let id = taken["id"].as_str().unwrap();
            let served = fetch(&fixture.person, id).await;
            let header = |name: &str| served.headers()[name].to_str().unwrap().to_owned();
            assert_eq!((header("content-type"), header("content-disposition")), (kind.to_owned(), place.to_owned()));
            assert_eq!(header("x-content-type-options"), "nosniff");
            assert_eq!(header("content-security-policy"), "default-src 'none'; sandbox");
            assert!(header("cache-control").starts_with("private"));
            assert_eq!(served.bytes().await.unwrap().as_ref(), content);

            let path = format!("/v1/files/{id}");
            assert_eq!((bytes(&stranger, id).await, delete(&stranger, &path).await), (Err(404), 404));
            assert_eq!((delete(&fixture.person, &path).await, delete(&fixture.person, &path).await), (204, 404));
            assert_eq!(bytes(&fixture.person, id).await, Err(404));
        }
        let (_, taken) = upload(&fixture.person, "", "text/plain", b"x").await;
        assert_eq!(taken["name"], "file.txt");
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn what_is_not_taken_says_why() {
    for database in databases() {
        let fixture = Fixture::with(database, &[("CHAT_MAX_FILES_MIB_PER_USER", "12")]).await;
        for (content, status, code) in [
            (vec![], 400, "bad_request"),
            (b"PK\x03\x04\0\0".to_vec(), 415, "unsupported_media_type"),
            (b"caf\xe9".to_vec(), 415, "unsupported_media_type"),
            (vec![b'x'; 10 * MIB + 1], 413, "file_too_large"),
        ] {
            let (refused, answer) = upload(&fixture.person, "name=a", "image/png", &content).await;
            assert_eq!((refused, answer["error"]["code"].as_str().unwrap()), (status, code), "{answer}");
        }
        let large = vec![b'x'; 10 * MIB];
        let (status, taken) = upload(&fixture.person, "name=a", "text/plain", &large).await;
        assert_eq!(status, 201, "{taken}");
        let (status, answer) = upload(&fixture.person, "name=b", "text/plain", &large).await;
        assert_eq!((status, &answer["error"]["code"]), (413, &json!("storage_full")));
        assert!(answer["error"]["message"].as_str().unwrap().contains("12 MiB together. Delete chats"), "{answer}");
        let quota =
            json!({ "kind": "storedBytes", "limit": 12.0 * MIB as f64, "used": 10.0 * MIB as f64, "resetsAt": null });
        assert_eq!(fixture.person.get("/api/quotas").await["quotas"][0], quota);
        let small = vec![b'x'; MIB];
        let at_once = join_all((0..4).map(|_| upload(&fixture.person, "name=c", "text/plain", &small))).await;
        let kept = at_once.iter().filter(|(status, _)| *status == 201).count();
        assert_eq!(kept, 2, "there is room for two of them: {at_once:?}");
        // Each user has a quota of their own, and deleting a file frees space.
        let other = fixture.app.person().await;
        assert_eq!(upload(&other, "name=b", "text/plain", &large).await.0, 201);
        assert_eq!(delete(&fixture.person, &format!("/v1/files/{}", taken["id"].as_str().unwrap())).await, 204);
        assert_eq!(upload(&fixture.person, "name=b", "text/plain", &large).await.0, 201);
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn files_that_nobody_reads_hold_up_their_person_alone() {
    let fixture = Fixture::new(Database::Sqlite).await;
    let id = fixture.upload("large.txt", &vec![b'x'; 10 * MIB]).await;
    let mut unread = Vec::new();
    // More than sockets and buffers hold.
    let refused = loop {
        let answer = fetch(&fixture.person, &id).await;
        if answer.status() != 200 {
            break answer;
        }
        unread.push(answer);
    };
    assert_eq!((refused.status().as_u16(), unread.len()), (429, 16));
    assert!(refused.headers().contains_key("retry-after"));
    let other = fixture.app.person().await;
    let (_, taken) = upload(&other, "name=a", "text/plain", b"x").await;
    assert_eq!(bytes(&other, taken["id"].as_str().unwrap()).await, Ok(b"x".to_vec()));
    let first = unread.pop().unwrap();
    assert_eq!(first.headers()["content-length"], (10 * MIB).to_string().as_str());
    assert_eq!(first.bytes().await.unwrap().len(), 10 * MIB);
    // The permit is released as soon as the last chunk is handed over.
    while fetch(&fixture.person, &id).await.status() != 200 {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    drop(unread);
    fixture.app.stop().await;
}

#[tokio::test]
async fn what_nobody_sends_is_gone_after_a_day() {
    let clock = MockClock::new();
    let app = TestApp::builder().database(Database::Sqlite).clock(&clock).start().await;
    let mut person = app.person().await;
    let (_, taken) = upload(&person, "name=a", "text/plain", b"x").await;
    let id = taken["id"].as_str().unwrap();
    clock.advance_seconds(23 * 3600);
    person.sign_in_again().await;
    app.maintenance.run_once().await.unwrap();
    assert_eq!(bytes(&person, id).await, Ok(b"x".to_vec()));
    clock.advance_seconds(2 * 3600);
    person.sign_in_again().await;
    app.maintenance.run_once().await.unwrap();
    assert_eq!(bytes(&person, id).await, Err(404));
    app.stop().await;
}
