//! The command `rekey`.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::{Database, Person, ScriptedModel, Step, databases, http_client};

use crate::program::{Program, run};

/// Master keys: 32 bytes in base64.
const OLD_KEY: &str = "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=";
const NEW_KEY: &str = "CAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAg=";
const PENDING_KEY: &str = "CQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQk=";

/// Data of a server, which runs or not, with a user who has secrets.
struct Fixture {
    database: String,
    model: ScriptedModel,
    person: Person,
}

impl Fixture {
    async fn start(database: Database, settings: &[(&str, &str)]) -> (Self, Program) {
        let model = ScriptedModel::start([]).await;
        model.always(Step::Text("Yes.".into()));
        let folder = TempDir::new().unwrap();
        let database = database.create(&folder);
        let program = start(folder, &model, &database, settings).await;
        let person = Person::sign_up_at(&program.url, &http_client()).await;
        let own = json!({
            "name": "Mine", "kind": "compatible", "baseUrl": "https://models.example/v1", "key": "sk-secret-of-the-user",
        });
        assert_eq!(person.post("/api/model-providers", &own).await.0, 201);
        // A security key has no secret that the server could open.
        let key = json!({ "factor_type": "webauthn", "friendly_name": "key" });
        assert_eq!(person.post("/auth/v1/factors", &key).await.0, 200);
        (Self { database, model, person }, program)
    }

    async fn restart(&self, folder: TempDir, settings: &[(&str, &str)]) -> Program {
        start(folder, &self.model, &self.database, settings).await
    }

    /// Runs a command on the data.
    fn run(&self, folder: &Path, settings: &[(&str, &str)], arguments: &[&str]) -> (i32, String, String) {
        run(folder, &[&[("DATABASE_URL", self.database.as_str())], settings].concat(), arguments)
    }

    /// Returns the verdict of `doctor` about the stored secrets.
    fn examine(&self, folder: &Path, settings: &[(&str, &str)]) -> String {
        let (_, out, _) = self.run(folder, settings, &["doctor"]);
        out.lines().find(|line| line.contains("stored secrets")).unwrap().to_owned()
    }
}

async fn start(folder: TempDir, model: &ScriptedModel, database: &str, settings: &[(&str, &str)]) -> Program {
    let settings = [&[("DATABASE_URL", database)], settings].concat();
    let program = Program::start_in(folder, &model.base_url, &settings);
    program.until_ready(200).await;
    program
}

async fn count_published_keys(program: &Program) -> usize {
    let url = format!("{}/auth/v1/.well-known/jwks.json", program.url);
    let keys: Value = http_client().get(url).send().await.unwrap().json().await.unwrap();
    keys["keys"].as_array().unwrap().len()
}

/// Returns the status of the answer to the account's access token.
async fn status_of_token(program: &Program, token: &str) -> u16 {
    let request = http_client().get(format!("{}/auth/v1/user", program.url)).bearer_auth(token);
    request.send().await.unwrap().status().as_u16()
}

/// Returns the key that a `rekey` replaced.
fn previous_key(folder: &Path) -> PathBuf {
    let mut entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.find(|path| path.to_str().unwrap().contains("master.key.before-rekey-")).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn new_master_key_opens_everything_and_the_old_one_nothing() {
    for database in databases() {
        let (fixture, program) = Fixture::start(database, &[]).await;
        let (code, _, error) = fixture.run(program.folder.path(), &[], &["rekey", "--yes"]);
        assert_eq!(code, 1);
        assert!(error.contains("a server is using the data folder; stop it first"), "{error}");
        let elsewhere = TempDir::new().unwrap();
        let (code, _, error) = fixture.run(elsewhere.path(), &[], &["rekey", "--yes"]);
        assert!(code == 1 && error.contains("a server is using the database; stop it first"), "{error}");

        let folder = program.stop();
        let path = folder.path().join("master.key");
        let old = fs::read(&path).unwrap();
        let (code, _, error) = fixture.run(folder.path(), &[], &["rekey"]);
        assert!(code == 1 && error.contains("not confirmed; nothing was changed"), "{error}");
        let (code, out, error) = fixture.run(folder.path(), &[], &["rekey", "--yes"]);
        assert_eq!(code, 0, "{error}");
        assert!(out.contains("Encrypted 3 secrets with the new master key."), "{out}");
        let new = fs::read(&path).unwrap();
        assert_ne!(new, old);
        assert_eq!(fs::read(previous_key(folder.path())).unwrap(), old);
        assert!(!folder.path().join("master.key.new").exists());
        assert!(fixture.examine(folder.path(), &[]).ends_with("4 of 4 can be opened"), "two signing keys");
        let old_text = String::from_utf8(old).unwrap();
        let verdict = fixture.examine(folder.path(), &[("CHAT_MASTER_KEY", &old_text)]);
        assert!(verdict.contains("1 in model_providers, 1 in push_keys, 2 in signing_keys"), "{verdict}");
        let (_, log, _) = fixture.run(folder.path(), &[], &["admin", "audit", "--json-lines"]);
        assert_eq!(log.matches(r#""kind":"keys_replaced""#).count(), 1, "not for those that failed: {log}");

        let program = fixture.restart(folder, &[]).await;
        assert_eq!(count_published_keys(&program).await, 2);
        assert_eq!(status_of_token(&program, &fixture.person.token).await, 403, "the session has ended");
        Person::sign_up_at(&program.url, &http_client()).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn interrupted_replacement_is_continued() {
    for database in databases() {
        let (fixture, program) = Fixture::start(database, &[]).await;
        let folder = program.stop();
        let (present, pending) = (folder.path().join("master.key"), folder.path().join("master.key.new"));

        // Killed before the database changed: the present key opens it, and the new one waits.
        fs::write(&pending, PENDING_KEY).unwrap();
        assert!(fixture.examine(folder.path(), &[]).contains("3 of 3 can be opened"));
        let old = fs::read(&present).unwrap();
        assert_eq!(fixture.run(folder.path(), &[], &["rekey", "--yes"]).0, 0);
        assert_eq!(fs::read_to_string(&present).unwrap(), PENDING_KEY);

        // Killed after it: the new key opens it, and has not taken its place.
        fs::rename(&present, &pending).unwrap();
        fs::write(&present, &old).unwrap();
        let verdict = fixture.examine(folder.path(), &[]);
        assert!(verdict.contains("run `ai-chat-mcp rekey` again to continue it"), "{verdict}");
        let (code, out, error) = fixture.run(folder.path(), &[], &["rekey", "--yes"]);
        assert_eq!(code, 0, "{error}");
        assert!(out.contains("The database is under the new master key already."), "{out}");
        assert!(fixture.examine(folder.path(), &[]).contains("4 of 4 can be opened"));
        assert!(!pending.exists());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn key_of_the_settings_is_replaced_by_one_from_a_file() {
    let settings = [("CHAT_MASTER_KEY", OLD_KEY)];
    let (fixture, program) = Fixture::start(Database::Sqlite, &settings).await;
    let folder = program.stop();
    let (code, _, error) = fixture.run(folder.path(), &settings, &["rekey", "--yes"]);
    assert!(code == 1 && error.contains("name it with --new-key-file"), "{error}");
    let file = folder.path().join("key");
    let arguments = ["rekey", "--yes", "--new-key-file", file.to_str().unwrap()];
    for (key, refusal) in [("short", "the new key must hold 32 bytes in base64"), (OLD_KEY, "is the present one")] {
        fs::write(&file, key).unwrap();
        let (code, _, error) = fixture.run(folder.path(), &settings, &arguments);
        assert!(code == 1 && error.contains(refusal), "{error}");
    }
    fs::write(&file, format!("{NEW_KEY}\n")).unwrap();
    let (code, out, error) = fixture.run(folder.path(), &settings, &arguments);
    assert!(code == 0 && out.contains("Set CHAT_MASTER_KEY to the new key"), "{out}{error}");
    assert!(fixture.examine(folder.path(), &settings).starts_with("FAIL"));
    fixture.restart(folder, &[("CHAT_MASTER_KEY", NEW_KEY)]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unreadable_secrets_stop_the_replacement() {
    let (fixture, program) = Fixture::start(Database::Sqlite, &[]).await;
    let folder = program.stop();
    let settings = [("CHAT_MASTER_KEY", OLD_KEY)];
    let file = folder.path().join("key");
    fs::write(&file, NEW_KEY).unwrap();
    let arguments = ["rekey", "--yes", "--new-key-file", file.to_str().unwrap()];
    let (code, _, error) = fixture.run(folder.path(), &settings, &arguments);
    assert!(code == 1 && error.contains("1 in model_providers, 1 in push_keys, 1 in signing_keys"), "{error}");
    assert!(fixture.examine(folder.path(), &[]).contains("3 of 3 can be opened"), "nothing was changed");
    let kept = [&arguments[..], &["--keep-unreadable"]].concat();
    let (code, out, error) = fixture.run(folder.path(), &settings, &kept);
    assert!(code == 0 && out.contains("Left as they are: 1 in model_providers"), "{out}{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn users_stay_signed_in_with_a_new_signing_key() {
    for database in databases() {
        let (fixture, program) = Fixture::start(database, &[]).await;
        let folder = program.stop();
        let (code, out, error) = fixture.run(folder.path(), &[], &["rekey", "--signing-key-only"]);
        assert!(code == 0 && out.contains("The signing key is replaced."), "{out}{error}");
        let program = fixture.restart(folder, &[]).await;
        assert_eq!(count_published_keys(&program).await, 2);
        assert_eq!(status_of_token(&program, &fixture.person.token).await, 200);
    }
}
