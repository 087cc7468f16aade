//! Files in object storage (`CHAT_FILES`): where their content is, what happens when the storage fails, and what is
//! deleted.

use std::fs;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::{Clock, SystemClock};
use reqwest::Method;
use serde_json::{Value, json};
use storage::Storage;
use testkit::{CallAnswer, S3Failure, S3Server, ScriptedMcp, Step, TestApp, databases};

use super::fixture::{Fixture, PNG, bytes, delete, fetch, upload};

/// Deletes everything that is due a day from now.
async fn sweep(storage: &Storage) {
    let later = SystemClock.now().plus_seconds(25 * 3600);
    storage.chats().purge_deleted(later).await.unwrap();
    storage.files().purge(later).await.unwrap();
    while storage.files().delete_unused_objects(later).await.unwrap() {}
    storage.files().delete_orphaned_objects(later).await.unwrap();
}

/// Returns the status and the error of a response.
async fn refusal(answer: reqwest::Response) -> (u16, Value) {
    let status = answer.status().as_u16();
    (status, answer.json::<Value>().await.unwrap()["error"].clone())
}

#[tokio::test]
async fn content_is_in_the_bucket_and_only_its_owner_reads_it() {
    for database in databases() {
        let s3 = S3Server::start().await;
        let fixture = Fixture::in_object_storage(database, &s3).await;
        let file = fixture.upload("a.png", PNG).await;
        let objects = s3.objects();
        assert_eq!(objects.len(), 1);
        assert_eq!(fs::read(&objects[0]).unwrap(), PNG);
        let key = objects[0].display().to_string();
        assert!(key.contains(&format!("/{}/", fixture.person.id)) && !key.contains(&file), "{key}");
        assert_eq!(bytes(&fixture.person, &file).await.unwrap(), PNG);
        let stranger = fixture.app.person().await;
        assert_eq!(bytes(&stranger, &file).await, Err(404));
        assert_eq!(delete(&stranger, &format!("/v1/files/{file}")).await, 404);

        fixture.send("Look", &[&file]).await;
        assert!(fixture.read_last().1[0].starts_with("data:image/png;base64,iVBORw0KGgo"), "the model sees it");
        let shares = format!("/api/sessions/{}/shares", fixture.chat);
        let (_, share) = fixture.person.post(&shares, &json!({ "files": true })).await;
        let token = share["url"].as_str().unwrap().split_once("share=").unwrap().1;
        let url = format!("{}/api/shared/{token}/files/{file}", fixture.app.url);
        assert_eq!(fixture.app.http.get(&url).send().await.unwrap().bytes().await.unwrap(), PNG);
        assert_eq!(fixture.app.http.get(url.replace(token, "other")).send().await.unwrap().status(), 404);

        // Export and import.
        let path = format!("/api/sessions/{}/export", fixture.chat);
        let out = fixture.person.request(Method::GET, &path).send().await.unwrap().text().await.unwrap();
        let imported = stranger.request(Method::POST, "/api/account/import").body(out).send().await.unwrap();
        assert_eq!(imported.json::<Value>().await.unwrap()["imported"], 1);
        assert_eq!(s3.objects().len(), 2, "a copy of its own");
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn objects_go_with_files_chats_and_accounts() {
    for database in databases() {
        let s3 = S3Server::start().await;
        let fixture = Fixture::in_object_storage(database, &s3).await;
        let storage = fixture.app.state.storage.clone();
        // An unsent file, one of a chat, and one that is never sent.
        let file = fixture.upload("a.png", PNG).await;
        assert_eq!(delete(&fixture.person, &format!("/v1/files/{file}")).await, 204);
        let sent = fixture.upload("b.png", PNG).await;
        fixture.send("Look", &[&sent]).await;
        fixture.upload("c.png", PNG).await;
        let other = fixture.app.person().await;
        upload(&other, "name=d.png", "image/png", PNG).await;
        storage.files().delete_unused_objects(SystemClock.now()).await.unwrap();
        assert_eq!(s3.objects().len(), 3, "the deleted one is gone");

        assert_eq!(delete(&fixture.person, &format!("/rest/v1/ai_chat_sessions?id=eq.{}", fixture.chat)).await, 204);
        let (status, _) = other.post("/api/account/delete", &json!({ "email": other.email })).await;
        assert_eq!(status, 204);
        // While the storage fails, nothing is forgotten.
        s3.fail(Some(S3Failure::Down));
        let later = SystemClock.now().plus_seconds(25 * 3600);
        storage.chats().purge_deleted(later).await.unwrap();
        storage.files().purge(later).await.unwrap();
        let error = storage.files().delete_unused_objects(later).await.unwrap_err();
        assert!(matches!(error, storage::Error::FileStorage(_)), "{error}");
        assert_eq!(s3.objects().len(), 3);
        s3.fail(None);
        while storage.files().delete_unused_objects(later).await.unwrap() {}
        assert_eq!(s3.objects().len(), 0);
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn sweep_deletes_old_objects_without_a_file_and_no_others() {
    for database in databases() {
        let s3 = S3Server::start().await;
        let fixture = Fixture::in_object_storage(database, &s3).await;
        let file = fixture.upload("a.png", PNG).await;
        fixture.send("Look", &[&file]).await;
        let storage = &fixture.app.state.storage;
        // As after a crash between the object and its row, and as of another installation in the same bucket.
        let object = s3.objects().remove(0);
        let orphan = object.with_file_name(domain::ids::fresh().to_string());
        fs::write(&orphan, b"orphan").unwrap();
        let installation = object.parent().unwrap().parent().unwrap();
        let foreign = installation.with_file_name("another").join("x");
        fs::create_dir(foreign.parent().unwrap()).unwrap();
        fs::write(&foreign, b"not ours").unwrap();
        assert_eq!(storage.files().delete_orphaned_objects(SystemClock.now()).await.unwrap(), 0, "too young");
        let later = SystemClock.now().plus_seconds(25 * 3600);
        assert_eq!(storage.files().delete_orphaned_objects(later).await.unwrap(), 1);
        assert!(!orphan.exists() && foreign.exists());
        sweep(storage).await;
        assert_eq!(bytes(&fixture.person, &file).await.unwrap(), PNG);
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn failing_and_slow_storage_is_an_outage_for_users() {
    for database in databases() {
        let s3 = S3Server::start().await;
        let fixture = Fixture::in_object_storage(database, &s3).await;
        let file = fixture.upload("a.png", PNG).await;
        for failure in [S3Failure::Down, S3Failure::Slow(Duration::from_mins(1))] {
            s3.fail(Some(failure));
            let answer = fetch(&fixture.person, &file).await;
            assert_eq!(answer.headers()["retry-after"], "5");
            let (status, error) = refusal(answer).await;
            assert_eq!((status, &error["code"]), (503, &json!("file_storage_outage")));
            assert_eq!(error["message"], "the server cannot reach its file storage; try again soon");
            let (status, _) = upload(&fixture.person, "name=b.png", "image/png", PNG).await;
            assert_eq!(status, 503);
        }
        // A turn goes on, and the model is told.
        assert_eq!(fixture.send("What is it?", &[&file]).await.0, 200);
        let (words, files) = fixture.read_last();
        assert!(files.is_empty() && words.contains("its content cannot be read at the moment"), "{words}");
        s3.fail(None);
        assert_eq!(bytes(&fixture.person, &file).await.unwrap(), PNG);
        fixture.send("And now?", &[]).await;
        let first = super::fixture::pieces(&fixture.read()[1]["content"]);
        assert_eq!(first.1.len(), 1, "the model sees it again");
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn results_of_tools_are_stored_although_the_storage_fails() {
    for database in databases() {
        let s3 = S3Server::start().await;
        let fixture = Fixture::in_object_storage(database, &s3).await;
        let server = ScriptedMcp::start([json!({ "name": "look", "description": "Looks." })]).await;
        let sound = vec![9; 50_000];
        let audio = json!({ "type": "audio", "mimeType": "audio/ogg", "data": STANDARD.encode(&sound) });
        server.answer([CallAnswer::Result(json!({ "content": [audio] }))]);
        let connection = fixture.person.connect_to("eyes", &server.url).await;
        fixture.person.allow(&connection, "look", "always").await;
        fixture.model.push(Step::Calls(vec![("look".into(), json!({}))]));
        fixture.model.push(Step::Text("Heard.".into()));
        s3.fail(Some(S3Failure::Down));
        let tools = json!([{ "name": "look", "serverName": "eyes" }]);
        let (status, answer) = fixture.person.ask(&fixture.chat, "Listen", tools).await;
        assert_eq!((status.as_u16(), &answer["content"]), (200, &json!("Heard.")));
        let stored = fixture.person.messages(&fixture.chat).await.pop().unwrap();
        let url = stored["tool_calls"][0]["result"]["content"][0]["file"]["url"].as_str().unwrap();
        let id = url.strip_prefix("/v1/files/").unwrap();
        assert_eq!(bytes(&fixture.person, id).await.unwrap(), sound, "it is in the database");
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn lost_and_damaged_objects_are_reported() {
    for database in databases() {
        let s3 = S3Server::start().await;
        let fixture = Fixture::in_object_storage(database, &s3).await;
        let file = fixture.upload("a.png", PNG).await;
        let object = s3.objects().remove(0);
        let mut damaged = PNG.to_vec();
        damaged[40] ^= 1;
        for content in [Some(damaged.as_slice()), Some(&PNG[..10]), None] {
            match content {
                Some(content) => fs::write(&object, content).unwrap(),
                None => fs::remove_file(&object).unwrap(),
            }
            let (status, error) = refusal(fetch(&fixture.person, &file).await).await;
            assert_eq!((status, &error["code"]), (502, &json!("file_content_missing")));
            assert_eq!(error["message"], "the file's content is missing");
        }
        assert_eq!(fixture.send("What is it?", &[&file]).await.0, 200);
        let (words, _) = fixture.read_last();
        assert!(words.contains("its content is missing"), "{words}");
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn files_stay_readable_when_the_setting_changes() {
    for database in databases() {
        let s3 = S3Server::start().await;
        let fixture = Fixture::with(database, &[]).await;
        let old = fixture.upload("old.txt", b"in the database").await;
        let mut person = fixture.person.clone();
        let (folder, url) = fixture.app.stop().await;
        let start = async |settings: Vec<(&str, String)>| {
            let builder = TestApp::builder().on_data_of(&folder, &url);
            settings.into_iter().fold(builder, |builder, (name, value)| builder.set(name, value)).start().await
        };
        let app = start(s3.settings()).await;
        person.move_to(&app);
        assert_eq!(bytes(&person, &old).await.unwrap(), b"in the database");
        let (_, taken) = upload(&person, "name=new.txt", "text/plain", b"in the bucket").await;
        let new = taken["id"].as_str().unwrap().to_owned();
        app.stop().await;

        // With the access alone, new files are in the database again.
        let app = start(s3.access()).await;
        person.move_to(&app);
        assert_eq!(bytes(&person, &new).await.unwrap(), b"in the bucket");
        upload(&person, "name=newer.txt", "text/plain", b"in the database again").await;
        assert_eq!(s3.objects().len(), 1);
        app.stop().await;

        // A bucket to which the objects were copied is accepted, another one is not; nor is no access.
        let opened = async |settings: Vec<(&str, String)>| {
            let source = platform::config::Source::default();
            let source = settings.into_iter().fold(source, |source, (name, value)| source.with(name, value));
            let files = platform::config::Config::from_source(source).unwrap().files;
            Storage::open(&url)
                .await
                .unwrap()
                .with_file_storage(&files)
                .await
                .map(drop)
                .map_err(|error| error.to_string())
        };
        let elsewhere = |location: String| {
            let place = vec![("CHAT_FILES", location)];
            [place, s3.access()].concat()
        };
        let error = opened(Vec::new()).await.unwrap_err();
        assert!(error.contains("files are in s3://chat-files/chat; set AWS_ACCESS_KEY_ID"), "{error}");
        let error = opened(elsewhere(s3.create_bucket("empty"))).await.unwrap_err();
        assert!(error.contains("and not in s3://empty/chat; copy the objects there first"), "{error}");
        s3.fail(Some(S3Failure::Down));
        let copy = s3.copy_bucket("copied");
        let error = opened(elsewhere(copy.clone())).await.unwrap_err();
        assert!(error.contains("s3://copied/chat cannot be examined"), "{error}");
        s3.fail(None);
        opened(elsewhere(copy.clone())).await.unwrap();
        let app = start(elsewhere(copy)).await;
        person.move_to(&app);
        assert_eq!(bytes(&person, &new).await.unwrap(), b"in the bucket");
        app.stop().await;
    }
}

#[tokio::test]
async fn a_temporary_chat_writes_nothing_to_the_bucket() {
    let s3 = S3Server::start().await;
    let fixture = Fixture::in_object_storage(databases()[0], &s3).await;
    let (status, opened) = fixture.person.post("/api/temporary-chats", &json!({})).await;
    assert_eq!(status, 201, "{opened}");
    let chat = opened["id"].as_str().unwrap();
    let (status, taken) = upload(&fixture.person, &format!("name=a.png&sessionId={chat}"), "image/png", PNG).await;
    assert_eq!(status, 201, "{taken}");
    assert_eq!(bytes(&fixture.person, taken["id"].as_str().unwrap()).await.unwrap(), PNG);
    assert_eq!(s3.objects().len(), 0);
    fixture.app.stop().await;
}
