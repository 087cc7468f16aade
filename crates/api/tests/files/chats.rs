//! Files follow their chats: export and import, shares, deletion and restoring.

use reqwest::Method;
use serde_json::{Value, json};
use storage::quotas::{QuotaException, QuotaExceptions};
use tempfile::TempDir;
use testkit::{Database, ScriptedModel, Step, TestApp, databases};

use super::fixture::{Fixture, PNG, bytes, delete, upload};

async fn text(fixture: &Fixture, path: &str) -> String {
    fixture.person.request(Method::GET, path).send().await.unwrap().text().await.unwrap()
}

#[tokio::test]
async fn a_chat_goes_out_with_its_files_and_comes_in_again_with_them() {
    for database in databases() {
        let fixture = Fixture::new(database).await;
        let (one, two) = (fixture.upload("a.png", PNG).await, fixture.upload("b.md", b"# B").await);
        fixture.send("Look", &[&one, &two]).await;
        let out = text(&fixture, &format!("/api/sessions/{}/export", fixture.chat)).await;
        let markdown = text(&fixture, &format!("/api/sessions/{}/export?format=markdown", fixture.chat)).await;
        assert!(markdown.contains("\nFile: `a.png` (image/png)\n"), "{markdown}");

        // Another user gets copies of the files.
        let other = fixture.app.person().await;
        let import = async |person: &testkit::Person, file: &str| {
            let request = person.request(Method::POST, "/api/account/import").body(file.to_owned());
            let answer = request.send().await.unwrap();
            (answer.status().as_u16(), answer.json::<Value>().await.unwrap())
        };
        assert_eq!(import(&other, &out).await.1["imported"], 1);
        let theirs = other.get("/rest/v1/ai_chat_sessions?select=id").await;
        let message = &other.messages(theirs[0]["id"].as_str().unwrap()).await[0];
        let url = message["parts"][0]["url"].as_str().unwrap();
        let theirs = url.strip_prefix("/v1/files/").unwrap();
        assert_ne!(theirs, one);
        assert_eq!(bytes(&other, theirs).await.unwrap(), PNG);
        assert_eq!(bytes(&fixture.person, theirs).await, Err(404));

        // The user's own files are restored under their ids after they were deleted.
        assert_eq!(delete(&fixture.person, &format!("/rest/v1/ai_chat_sessions?id=eq.{}", fixture.chat)).await, 204);
        let storage = &fixture.app.state.storage;
        let later = fixture.app.state.clock.now().plus_seconds(60);
        storage.chats().purge_deleted(later).await.unwrap();
        storage.files().purge(later).await.unwrap();
        assert_eq!(bytes(&fixture.person, &one).await, Err(404));
        assert_eq!(import(&fixture.person, &out).await.1["imported"], 1);
        assert_eq!(bytes(&fixture.person, &one).await.unwrap(), PNG);
        assert_eq!(text(&fixture, &format!("/api/sessions/{}/export", fixture.chat)).await.len(), out.len());

        let broken = out.replacen("\"bytes\":\"", "\"bytes\":\"?", 1);
        let (status, refused) = import(&fixture.person, &broken).await;
        assert_eq!(status, 400);
        assert!(refused["error"]["message"].as_str().unwrap().starts_with("chats[0].files[0].bytes: "), "{refused}");
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn imports_at_the_same_time_do_not_pass_the_storage_quota_together() {
    for database in databases() {
        let fixture = Fixture::new(database).await;
        let large = fixture.upload("large.txt", "x".repeat(600 * 1024).as_bytes()).await;
        fixture.send("Look", &[&large]).await;
        let out = text(&fixture, &format!("/api/sessions/{}/export", fixture.chat)).await;
        let other = fixture.app.person().await;
        let limit = QuotaException::Limit(1024 * 1024);
        let exceptions = QuotaExceptions([None, None, None, None, None, Some(limit), None]);
        let storage = &fixture.app.state.storage;
        storage.quotas().set_exceptions(other.id.parse().unwrap(), exceptions).await.unwrap();
        let import = async || {
            let another = out.replace(&fixture.chat, &domain::ids::fresh().to_string());
            let request = other.request(Method::POST, "/api/account/import").body(another);
            let answer = request.send().await.unwrap();
            (answer.status().as_u16(), answer.json::<Value>().await.unwrap())
        };
        let (one, two) = tokio::join!(import(), import());
        let (imported, refused) = if one.0 == 200 { (one, two) } else { (two, one) };
        assert_eq!(imported.1["imported"], 1, "{imported:?}");
        assert_eq!((refused.0, &refused.1["error"]["code"]), (413, &json!("storage_full")), "{refused:?}");
        assert_eq!(other.get("/rest/v1/ai_chat_sessions?select=id").await.as_array().unwrap().len(), 1);
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn a_link_shows_files_only_when_chosen_and_those_of_its_chat_alone() {
    for database in databases() {
        let fixture = Fixture::new(database).await;
        let file = fixture.upload("secret.png", PNG).await;
        fixture.send("Look", &[&file]).await;
        let other = fixture.upload("b.png", PNG).await;
        let mut shown = Vec::new();
        for files in [false, true] {
            let path = format!("/api/sessions/{}/shares", fixture.chat);
            let (_, share) = fixture.person.post(&path, &json!({ "files": files })).await;
            let token = share["url"].as_str().unwrap().split_once("share=").unwrap().1.to_owned();
            let messages = fixture.person.get(&format!("/api/shared/{token}")).await["messages"].clone();
            shown.push((share["id"].as_str().unwrap().to_owned(), token, messages));
        }
        let get = async |token: &str, file: &str| {
            let url = format!("{}/api/shared/{token}/files/{file}", fixture.app.url);
            let answer = fixture.app.http.get(url).send().await.unwrap();
            assert!(answer.headers()["x-robots-tag"].to_str().unwrap().contains("noindex"));
            assert_eq!(answer.headers()["cache-control"], "no-store");
            answer.status().as_u16()
        };
        let (plain, whole) = (&shown[0], &shown[1]);
        assert_eq!(plain.2[0]["parts"][0], json!({ "type": "hidden-file", "mediaType": "image/png" }));
        assert!(!plain.2.to_string().contains(&file));
        assert_eq!(
            (&whole.2[0]["parts"][0]["id"], &whole.2[0]["parts"][0]["filename"]),
            (&json!(file), &json!("secret.png"))
        );
        assert_eq!((get(&plain.1, &file).await, get(&whole.1, &file).await), (404, 200));
        assert_eq!(
            (get(&whole.1, &other).await, get("unknown", &file).await, get(&whole.1, "x").await),
            (404, 404, 404)
        );
        assert_eq!(delete(&fixture.person, &format!("/api/shares/{}", whole.0)).await, 204);
        assert_eq!(get(&whole.1, &file).await, 404);
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn a_message_is_found_by_the_name_of_its_file() {
    for database in databases() {
        let fixture = Fixture::new(database).await;
        let file = fixture.upload("Zerubbabel-plan.md", b"x").await;
        fixture.send("Look", &[&file]).await;
        fixture.send("And now?", &[]).await;
        let found = fixture.person.get("/api/search?q=zerubbabel").await;
        assert_eq!(found["messages"].as_array().unwrap().len(), 1, "{found}");
        assert!(found["messages"][0]["excerpt"]["text"].as_str().unwrap().contains("Zerubbabel-plan.md"), "{found}");
        let stranger = fixture.app.person().await;
        assert_eq!(stranger.get("/api/search?q=zerubbabel").await["messages"], json!([]));
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn a_deleted_chat_comes_back_with_its_files_and_an_account_takes_them_along() {
    for database in databases() {
        let fixture = Fixture::new(database).await;
        let file = fixture.upload("a.png", PNG).await;
        fixture.send("Look", &[&file]).await;
        assert_eq!(delete(&fixture.person, &format!("/rest/v1/ai_chat_sessions?id=eq.{}", fixture.chat)).await, 204);
        fixture.app.maintenance.run_once().await.unwrap();
        let restored = fixture.person.post(&format!("/api/sessions/{}/restore", fixture.chat), &json!({})).await;
        assert_eq!(restored.0, 204);
        assert_eq!(bytes(&fixture.person, &file).await.unwrap(), PNG);
        let (status, _) = fixture.person.post("/api/account/delete", &json!({ "email": fixture.person.email })).await;
        assert_eq!(status, 204);
        let owner = fixture.person.id.parse().unwrap();
        assert_eq!(fixture.app.state.storage.files().count_bytes(owner).await.unwrap(), 0);
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn what_was_brought_to_one_node_is_read_and_sent_at_another() {
    if !databases().contains(&Database::Postgres) {
        return;
    }
    let model = ScriptedModel::start([Step::Text("Yes.".into())]).await;
    let node = || {
        let key = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";
        let builder = TestApp::builder().database(Database::Postgres).set("CHAT_MASTER_KEY", key);
        builder.set("OPENAI_BASE_URL", &model.base_url)
    };
    let here = node().start().await;
    let there = node().on_data_of(&std::sync::Arc::new(TempDir::new().unwrap()), &here.database_url).start().await;
    let person = here.person().await;
    let (_, taken) = upload(&person, "name=a.txt", "text/plain", b"from here").await;
    let mut elsewhere = person.clone();
    elsewhere.move_to(&there);
    let chat = elsewhere.new_chat().await;
    let body = json!({ "message": "Read", "sessionId": chat, "attachments": [taken["id"]] });
    assert_eq!(elsewhere.post("/functions/v1/ai-chat", &body).await.0, 200);
    assert!(model.requests()[0].to_string().contains("from here"));
    assert_eq!(bytes(&elsewhere, taken["id"].as_str().unwrap()).await.unwrap(), b"from here");
    here.stop().await;
    there.stop().await;
}
