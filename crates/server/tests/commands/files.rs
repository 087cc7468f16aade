//! Files in object storage under the commands: `files move`, `doctor`, `backup` and `restore`.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::{Database, Person, S3Failure, S3Server, ScriptedModel, Step, databases, http_client};

use crate::program::{Program, run};

type Settings = Vec<(&'static str, String)>;

/// A running server with a user and a chat.
struct Fixture {
    program: Program,
    model: ScriptedModel,
    person: Person,
    chat: String,
    url: String,
}

/// Returns settings in the form of the other functions.
fn borrowed<'a>(url: &'a str, settings: &'a Settings) -> Vec<(&'a str, &'a str)> {
    let mut all = vec![("DATABASE_URL", url)];
    all.extend(settings.iter().map(|(name, value)| (*name, value.as_str())));
    all
}

/// Runs a command without blocking the runtime, on which the object storage answers.
async fn run_beside(folder: &Path, url: &str, settings: &Settings, arguments: &[&str]) -> (i32, String, String) {
    let (folder, url, settings) = (folder.to_owned(), url.to_owned(), settings.clone());
    let arguments: Vec<String> = arguments.iter().map(|&argument| argument.to_owned()).collect();
    let command = move || {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        run(&folder, &borrowed(&url, &settings), &arguments)
    };
    tokio::task::spawn_blocking(command).await.unwrap()
}

impl Fixture {
    async fn start(database: Database, settings: &Settings) -> Self {
        let model = ScriptedModel::start([]).await;
        model.always(Step::Text("Yes.".into()));
        let folder = TempDir::new().unwrap();
        let url = database.create(&folder);
        let program = Program::start_in(folder, &model.base_url, &borrowed(&url, settings));
        program.until_ready(200).await;
        let person = Person::sign_up_at(&program.url, &http_client()).await;
        let chat = person.new_chat().await;
        Self { program, model, person, chat, url }
    }

    /// Uploads text files and sends them with a message. Returns their ids.
    async fn send_files(&self, contents: &[String]) -> Vec<String> {
        let mut ids = Vec::new();
        for content in contents {
            let request = self.person.request(Method::POST, "/v1/files?name=a.txt").body(content.clone());
            let answer: Value = request.send().await.unwrap().json().await.unwrap();
            ids.push(answer["id"].as_str().unwrap().to_owned());
        }
        for ids in ids.chunks(10) {
            let body = json!({ "message": "Read", "sessionId": self.chat, "attachments": ids });
            let (status, answer) = self.person.post("/functions/v1/ai-chat", &body).await;
            assert_eq!(status, 200, "{answer}");
        }
        ids
    }

    async fn restart(self, settings: &Settings) -> Self {
        let Self { program, model, person, chat, url } = self;
        let program = Program::start_in(program.stop(), &model.base_url, &borrowed(&url, settings));
        program.until_ready(200).await;
        let person = Person::sign_in_at(&person.email, &program.url, &http_client()).await;
        Self { program, model, person, chat, url }
    }

    async fn run(&self, settings: &Settings, arguments: &[&str]) -> (i32, String, String) {
        run_beside(self.program.folder.path(), &self.url, settings, arguments).await
    }
}

/// Returns the text of a file, or the status of the error.
async fn read(person: &Person, id: &str) -> Result<String, u16> {
    let answer = person.request(Method::GET, &format!("/v1/files/{id}")).send().await.unwrap();
    match answer.status().as_u16() {
        200 => Ok(answer.text().await.unwrap()),
        status => Err(status),
    }
}

fn contents(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("content {number}")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_moved_both_ways_while_they_are_read() {
    for database in databases() {
        let s3 = S3Server::start().await;
        let fixture = Fixture::start(database, &Settings::new()).await;
        let contents = contents(40);
        let ids = fixture.send_files(&contents).await;
        let fixture = fixture.restart(&s3.settings()).await;
        let (code, _, error) = fixture.run(&Settings::new(), &["files", "move", "--to", "s3"]).await;
        assert_eq!(code, 1);
        assert!(error.contains("set CHAT_FILES to the bucket"), "{error}");

        for (arguments, objects) in [(&["files", "move"][..], 40), (&["files", "move", "--to", "database"], 0)] {
            s3.fail(Some(S3Failure::Down));
            let (code, _, error) = fixture.run(&s3.settings(), arguments).await;
            s3.fail(None);
            assert_eq!(code, 1);
            assert!(error.contains("0 of 40 files were moved, then the file storage failed"), "{error}");

            let done = AtomicBool::new(false);
            let readers = async {
                let mut reads = 0;
                // At least once after the end.
                loop {
                    let is_last = done.load(Ordering::SeqCst);
                    for (id, content) in ids.iter().zip(&contents) {
                        assert_eq!(read(&fixture.person, id).await.as_ref(), Ok(content));
                        reads += 1;
                    }
                    if is_last {
                        break reads;
                    }
                }
            };
            let moving = async {
                let (code, out, error) = fixture.run(&s3.settings(), arguments).await;
                done.store(true, Ordering::SeqCst);
                assert_eq!(code, 0, "{out}{error}");
                assert!(out.contains("Moved 40 files to the "), "{out}");
            };
            let (reads, ()) = tokio::join!(readers, moving);
            assert!(reads >= 40);
            assert_eq!(s3.objects().len(), objects);
            let (code, out, _) = fixture.run(&s3.settings(), arguments).await;
            assert!(code == 0 && out.contains("Moved 0 files"), "{out}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_file_stays_behind_and_is_named() {
    for database in databases() {
        let s3 = S3Server::start().await;
        let fixture = Fixture::start(database, &s3.settings()).await;
        let ids = fixture.send_files(&contents(2)).await;
        fs::remove_file(&s3.objects()[0]).unwrap();
        let (code, out, _) = fixture.run(&s3.settings(), &["files", "move", "--to", "database"]).await;
        assert_eq!(code, 1, "{out}");
        let lost = ids.iter().find(|id| out.contains(&format!("The content of the file {id} is missing"))).unwrap();
        assert!(out.contains("Moved 1 files") && out.contains("New files still go to the bucket"), "{out}");
        for id in &ids {
            assert_eq!(read(&fixture.person, id).await.is_ok(), id != lost);
        }
        assert_eq!(read(&fixture.person, lost).await, Err(502));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_examines_the_bucket() {
    let s3 = S3Server::start().await;
    let folder = TempDir::new().unwrap();
    let url = Database::Sqlite.create(&folder);
    let verdict = async |settings: &Settings| {
        let (_, out, _) = run_beside(folder.path(), &url, settings, &["doctor"]).await;
        out.lines().find(|line| line.contains("file storage")).map(str::to_owned)
    };
    assert_eq!(verdict(&Settings::new()).await, None);
    let found = verdict(&s3.settings()).await.unwrap();
    assert_eq!(found, "pass  file storage: s3://chat-files/chat can be written, read and deleted");
    assert_eq!(s3.objects().len(), 0);
    let mut wrong = s3.settings();
    wrong.push(("AWS_SECRET_ACCESS_KEY", "another".to_owned()));
    let found = verdict(&wrong).await.unwrap();
    assert!(
        found.starts_with("FAIL  file storage: s3://chat-files/chat: the file storage failed: cannot write"),
        "{found}"
    );
    assert!(!found.contains("another"));
    s3.fail(Some(S3Failure::Down));
    assert!(verdict(&s3.settings()).await.unwrap().starts_with("FAIL"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_contains_the_objects_and_a_restore_leaves_the_old_ones() {
    for database in databases() {
        let s3 = S3Server::start().await;
        let settings = s3.settings();
        let fixture = Fixture::start(database, &settings).await;
        let contents = contents(3);
        let ids = fixture.send_files(&contents).await;
        let archive = fixture.program.folder.path().join("chat.tar.zst");
        let backup = ["backup", archive.to_str().unwrap(), "--with-keys"];
        // No access, and a failing storage: there is no backup instead of one without the files.
        let (code, _, error) = fixture.run(&Settings::new(), &backup).await;
        assert_eq!((code, archive.exists()), (1, false));
        assert!(error.contains("files are in s3://chat-files/chat; set AWS_ACCESS_KEY_ID"), "{error}");
        s3.fail(Some(S3Failure::Down));
        let (code, _, error) = fixture.run(&settings, &backup).await;
        assert_eq!((code, archive.exists()), (1, false), "{error}");
        s3.fail(None);
        let (code, out, error) = fixture.run(&settings, &backup).await;
        assert_eq!(code, 0, "{out}{error}");
        assert!(out.contains("with files from object storage, with keys"), "{out}");

        // To the database of another server, without access to the bucket.
        let elsewhere = TempDir::new().unwrap();
        let url = database.create(&elsewhere);
        let restore = ["restore", archive.to_str().unwrap(), "--yes"];
        let (code, out, error) = run_beside(elsewhere.path(), &url, &Settings::new(), &restore).await;
        assert_eq!(code, 0, "{out}{error}");
        assert!(out.contains("Objects from before are still in s3://chat-files/chat/"), "{out}");
        let program = Program::start_in(elsewhere, &fixture.model.base_url, &borrowed(&url, &Settings::new()));
        program.until_ready(200).await;
        let person = Person::sign_in_at(&fixture.person.email, &program.url, &http_client()).await;
        for (id, content) in ids.iter().zip(&contents) {
            assert_eq!(read(&person, id).await.as_ref(), Ok(content));
        }
        assert_eq!(s3.objects().len(), 3);

        // In place, to the bucket: under new keys, and what was there is left.
        let Fixture { program, model, person, url, .. } = fixture;
        let folder = program.stop();
        let kept = s3.objects();
        s3.fail(Some(S3Failure::Down));
        let (code, _, error) = run_beside(folder.path(), &url, &settings, &restore).await;
        assert_eq!(code, 1);
        assert!(error.contains("nothing was changed") || error.contains("no restore point"), "{error}");
        s3.fail(None);
        let (code, out, error) = run_beside(folder.path(), &url, &settings, &restore).await;
        assert_eq!(code, 0, "{out}{error}");
        let objects = s3.objects();
        assert_eq!(objects.len(), 6);
        assert!(kept.iter().all(|object| objects.contains(object)));
        let program = Program::start_in(folder, &model.base_url, &borrowed(&url, &settings));
        program.until_ready(200).await;
        let person = Person::sign_in_at(&person.email, &program.url, &http_client()).await;
        for object in kept {
            fs::remove_file(object).unwrap();
        }
        for (id, content) in ids.iter().zip(&contents) {
            assert_eq!(read(&person, id).await.as_ref(), Ok(content));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_says_what_is_lost() {
    for database in databases() {
        let s3 = S3Server::start().await;
        let fixture = Fixture::start(database, &s3.settings()).await;
        let ids = fixture.send_files(&contents(2)).await;
        fs::remove_file(&s3.objects()[0]).unwrap();
        let archive = fixture.program.folder.path().join("chat.tar.zst");
        let (code, out, error) =
            fixture.run(&s3.settings(), &["backup", archive.to_str().unwrap(), "--with-keys"]).await;
        assert_eq!(code, 0, "{out}{error}");
        assert!(out.contains("Warning: the content of 1 files is missing in object storage."), "{out}");
        let elsewhere = TempDir::new().unwrap();
        let url = database.create(&elsewhere);
        let restore = ["restore", archive.to_str().unwrap(), "--yes"];
        let (code, out, error) = run_beside(elsewhere.path(), &url, &Settings::new(), &restore).await;
        assert_eq!(code, 0, "{out}{error}");
        assert!(out.contains("Warning: the backup lacks the content of 1 files."), "{out}");
        let program = Program::start_in(elsewhere, &fixture.model.base_url, &borrowed(&url, &Settings::new()));
        program.until_ready(200).await;
        let person = Person::sign_in_at(&fixture.person.email, &program.url, &http_client()).await;
        let mut read_all = Vec::new();
        for id in &ids {
            read_all.push(read(&person, id).await.map(drop));
        }
        read_all.sort();
        assert_eq!(read_all, [Ok(()), Err(502)]);
    }
}
