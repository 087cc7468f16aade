//! The commands `backup` and `restore`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::{Database, Person, ScriptedModel, Step, databases, http_client};

use crate::program::{Program, run};

/// A running server with a user who has a chat and a secret.
struct Fixture {
    program: Program,
    url: String,
    model: ScriptedModel,
    person: Person,
    chat: String,
}

impl Fixture {
    async fn start(database: Database) -> Self {
        let model = ScriptedModel::start([]).await;
        model.always(Step::Text("Yes.".into()));
        let folder = TempDir::new().unwrap();
        let url = database.create(&folder);
        let program = Program::start_in(folder, &model.base_url, &[("DATABASE_URL", &url)]);
        program.until_ready(200).await;
        let person = Person::sign_up_at(&program.url, &http_client()).await;
        let own = json!({
            "name": "Mine", "kind": "compatible", "baseUrl": "https://models.example/v1", "key": "sk-secret-of-the-user",
        });
        let (status, made) = person.post("/api/model-providers", &own).await;
        assert_eq!(status, 201, "{made}");
        let chat = person.new_chat().await;
        let fixture = Self { program, url, model, person, chat };
        fixture.ask("before the backup").await;
        fixture
    }

    fn folder(&self) -> &Path {
        self.program.folder.path()
    }

    async fn ask(&self, message: &str) {
        let (status, answer) = self.person.ask(&self.chat, message, json!([])).await;
        assert_eq!(status, 200, "{answer}");
    }

    async fn ask_in_new_chat(&self, message: &str) {
        let (status, answer) = self.person.ask(&self.person.new_chat().await, message, json!([])).await;
        assert_eq!(status, 200, "{answer}");
    }

    async fn contents(&self) -> Vec<String> {
        contents(&self.person, &self.chat).await
    }

    /// Runs a command on the data of the server.
    fn run(&self, arguments: &[&str]) -> (i32, String, String) {
        run(self.folder(), &[("DATABASE_URL", &self.url)], arguments)
    }

    fn backup(&self, name: &str, more: &[&str]) -> PathBuf {
        let path = self.folder().join(name);
        let (code, out, error) = self.run(&[&["backup", path.to_str().unwrap()], more].concat());
        assert_eq!(code, 0, "{out}{error}");
        path
    }
}

async fn contents(person: &Person, chat: &str) -> Vec<String> {
    let messages = person.messages(chat).await;
    messages.iter().map(|message| message["content"].as_str().unwrap().to_owned()).collect()
}

/// Returns the files of a folder that are not the database's or a server's own.
fn archives(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.contains("tar") || name.starts_with('.')).collect();
    names.sort();
    names
}

/// Writes a changed copy of a backup, whose checksums are right, with the system's programs.
fn rewrite(archive: &Path, name: &str, change: impl Fn(&mut Value), change_database: impl Fn(&mut Vec<u8>)) -> PathBuf {
    let folder = TempDir::new().unwrap();
    let shell = |script: &str, path: &Path| {
        let mut command = Command::new("sh");
        let done = command.args(["-ec", script, "sh"]).arg(path).current_dir(&folder).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    };
    shell("zstd -dc \"$1\" | tar -x", archive);
    let manifest_path = folder.path().join("manifest.json");
    let mut manifest: Value = serde_json::from_slice(&fs::read(&manifest_path).unwrap()).unwrap();
    let database = folder.path().join(manifest["files"][0]["name"].as_str().unwrap());
    let mut bytes = fs::read(&database).unwrap();
    change_database(&mut bytes);
    fs::write(&database, &bytes).unwrap();
    manifest["files"][0]["size"] = json!(bytes.len());
    manifest["files"][0]["sha256"] = json!(shell("sha256sum \"$1\"", &database).split(' ').next().unwrap());
    change(&mut manifest);
    fs::write(&manifest_path, manifest.to_string()).unwrap();
    let target = archive.with_file_name(name);
    shell("tar -c manifest.json database.* keys/* | zstd -q -o \"$1\"", &target);
    target
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_under_load_restores_everything_acknowledged() {
    for database in databases() {
        let fixture = Fixture::start(database).await;
        let done = AtomicBool::new(false);
        let load = async {
            let mut count = 0;
            while !done.load(Ordering::SeqCst) {
                fixture.ask(&format!("question {count}")).await;
                count += 1;
            }
        };
        let backup = async {
            for count in 0..10 {
                fixture.ask_in_new_chat(&format!("acknowledged {count}")).await;
            }
            let acknowledged = fixture.contents().await;
            let path = fixture.folder().join("chat.tar.zst");
            let (folder, url) = (fixture.folder().to_owned(), fixture.url.clone());
            let target = path.to_str().unwrap().to_owned();
            let made = tokio::task::spawn_blocking(move || {
                run(&folder, &[("DATABASE_URL", &url)], &["backup", &target, "--with-keys"])
            });
            let (code, out, error) = made.await.unwrap();
            done.store(true, Ordering::SeqCst);
            assert_eq!(code, 0, "{out}{error}");
            assert!(out.contains("with keys"), "{out}");
            assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
            (path, acknowledged)
        };
        let ((), (path, acknowledged)) = tokio::join!(load, backup);
        assert!(!acknowledged.is_empty());

        // To an empty folder and database, as on another machine.
        let elsewhere = TempDir::new().unwrap();
        let url = database.create(&elsewhere);
        let settings = [("DATABASE_URL", url.as_str())];
        let (code, out, error) = run(elsewhere.path(), &settings, &["restore", path.to_str().unwrap(), "--yes"]);
        assert_eq!(code, 0, "{out}{error}");
        assert!(!out.contains("Warning"), "every secret is opened: {out}");
        let recorded = |folder: &Path, url: &str, kind: &str| {
            let (_, log, _) = run(folder, &[("DATABASE_URL", url)], &["admin", "audit", "--json-lines"]);
            let events = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
            let events: Vec<_> = events.filter(|event| event["kind"] == kind).collect();
            assert!(events.iter().all(|event| event["actor"] == "admin" && event["user_id"].is_null()), "{log}");
            events.len()
        };
        assert_eq!(recorded(fixture.folder(), &fixture.url, "backup_created"), 1);
        assert_eq!(recorded(elsewhere.path(), &url, "backup_created"), 0, "the copy is from before");
        assert_eq!(recorded(elsewhere.path(), &url, "backup_restored"), 1);
        let program = Program::start_in(elsewhere, &fixture.model.base_url, &settings);
        program.until_ready(200).await;
        let person = Person::sign_in_at(&fixture.person.email, &program.url, &http_client()).await;
        let restored = contents(&person, &fixture.chat).await;
        assert_eq!(restored[..acknowledged.len()], acknowledged);
        let found = person.get("/rest/v1/ai_chat_messages?select=content&content=like.acknowledged*").await;
        assert_eq!(found.as_array().unwrap().len(), 10);
        let providers = person.get("/api/model-providers").await;
        assert!(providers.to_string().contains("Mine"), "{providers}");
        let (status, answer) = person.ask(&person.new_chat().await, "Are you there?", json!([])).await;
        assert_eq!((status.as_u16(), &answer["content"]), (200, &json!("Yes.")));
    }
}

#[tokio::test]
async fn a_restore_keeps_what_it_replaces() {
    for database in databases() {
        let fixture = Fixture::start(database).await;
        let path = fixture.backup("chat.tar.zst", &[]);
        fixture.ask("after the backup").await;
        let archive = path.to_str().unwrap();
        let (code, _, error) = fixture.run(&["restore", archive, "--yes"]);
        assert_eq!(code, 1);
        assert!(error.contains("a server is using the data folder; stop it first"), "{error}");
        assert_eq!(fixture.contents().await.len(), 4);

        let Fixture { program, url, model, person, chat } = fixture;
        let folder = program.stop();
        let settings = [("DATABASE_URL", url.as_str())];
        let (code, out, error) = run(folder.path(), &settings, &["restore", archive]);
        assert_eq!(code, 1, "nobody confirms: {out}");
        assert!(out.contains("This replaces the present data. Type yes to restore:"), "{out}");
        assert!(error.contains("nothing was changed"), "{error}");
        let (code, out, error) = run(folder.path(), &settings, &["restore", archive, "--yes"]);
        assert_eq!(code, 0, "{out}{error}");
        let kept = out.lines().find_map(|line| line.strip_prefix("The previous database is in ")).unwrap();
        let kept = Path::new(kept.strip_suffix('.').unwrap());
        assert!(kept.exists(), "{out}");

        let program = Program::start_in(folder, &model.base_url, &settings);
        program.until_ready(200).await;
        let back = Person::sign_in_at(&person.email, &program.url, &http_client()).await;
        assert_eq!(contents(&back, &chat).await, ["before the backup", "Yes."]);
        let folder = program.stop();

        // What was replaced can be restored in turn.
        if database == Database::Postgres {
            let (code, out, error) = run(folder.path(), &settings, &["restore", kept.to_str().unwrap(), "--yes"]);
            assert_eq!(code, 0, "{out}{error}");
        } else {
            fs::rename(kept, url.strip_prefix("sqlite://").unwrap()).unwrap();
        }
        let program = Program::start_in(folder, &model.base_url, &settings);
        program.until_ready(200).await;
        let back = Person::sign_in_at(&person.email, &program.url, &http_client()).await;
        assert_eq!(contents(&back, &chat).await.len(), 4);
    }
}

#[tokio::test]
async fn a_failed_restore_leaves_what_was_there() {
    for database in databases() {
        let fixture = Fixture::start(database).await;
        let path = fixture.backup("chat.tar.zst", &["--with-keys"]);
        let damaged = path.with_file_name("damaged.tar.zst");
        let mut bytes = fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0xff;
        fs::write(&damaged, bytes).unwrap();
        let newer = rewrite(&path, "newer.tar.zst", |manifest| manifest["format_version"] = json!(99), |_| ());
        let future = rewrite(&path, "future.tar.zst", |manifest| manifest["schema_version"] = json!(999_999), |_| ());
        // Every checksum is right, but the database ends in the middle.
        let cut = rewrite(&path, "cut.tar.zst", |_| (), |bytes| bytes.truncate(bytes.len() * 3 / 4));
        let useless = rewrite(&path, "useless.tar.zst", |_| (), |bytes| bytes.fill(7));
        let Fixture { program, url, model, person, chat } = fixture;
        let folder = program.stop();
        let settings = [("DATABASE_URL", url.as_str())];
        let before = archives(folder.path());
        for (archive, reason) in [
            (&damaged, "cannot be restored"),
            (&newer, "written by a newer version"),
            (&future, "made by a newer version"),
            (&cut, "nothing was changed"),
            (&useless, "nothing was changed"),
        ] {
            let (code, out, error) = run(folder.path(), &settings, &["restore", archive.to_str().unwrap(), "--yes"]);
            assert_eq!(code, 1, "{out}{error}");
            assert!(error.contains(reason), "{reason}: {error}");
        }
        assert_eq!(archives(folder.path()), before, "nothing unfinished remains");

        let program = Program::start_in(folder, &model.base_url, &settings);
        program.until_ready(200).await;
        let back = Person::sign_in_at(&person.email, &program.url, &http_client()).await;
        assert_eq!(contents(&back, &chat).await, ["before the backup", "Yes."]);
    }
}

#[tokio::test]
async fn data_under_another_master_key_is_not_restored() {
    for database in databases() {
        let fixture = Fixture::start(database).await;
        let path = fixture.backup("chat.tar.zst", &[]);
        let (_, out, _) = fixture.run(&["backup", fixture.folder().join("again.tar.zst").to_str().unwrap()]);
        assert!(out.contains("without keys") && out.contains("Store the master key separately"), "{out}");
        let other = Fixture::start(database).await;
        let Fixture { program, url, model, person, chat } = other;
        let folder = program.stop();
        let settings = [("DATABASE_URL", url.as_str())];
        let (code, out, error) = run(folder.path(), &settings, &["restore", path.to_str().unwrap(), "--yes"]);
        assert_eq!(code, 1, "{out}");
        assert!(error.contains("made under another master key"), "{error}");
        assert_eq!(archives(folder.path()), [""; 0], "nothing unfinished remains");
        let program = Program::start_in(folder, &model.base_url, &settings);
        program.until_ready(200).await;
        let back = Person::sign_in_at(&person.email, &program.url, &http_client()).await;
        assert_eq!(contents(&back, &chat).await.len(), 2);

        // With that key, it is.
        let folder = program.stop();
        fs::copy(fixture.folder().join("master.key"), folder.path().join("master.key")).unwrap();
        let (code, out, error) = run(folder.path(), &settings, &["restore", path.to_str().unwrap(), "--yes"]);
        assert_eq!(code, 0, "{out}{error}");
    }
}

#[tokio::test]
async fn a_backup_that_fails_leaves_nothing() {
    let fixture = Fixture::start(Database::Sqlite).await;
    let target = fixture.folder().join("chat.tar.zst");
    // A process that may not extend its files gets the same error as on a full disk: not even the copy fits.
    let output = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 100; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_ai-chat-mcp")])
        .args(["backup", target.to_str().unwrap()])
        .current_dir(fixture.folder())
        .envs([("DATABASE_URL", fixture.url.as_str())])
        .env("CHAT_DATA_DIR", fixture.folder())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("disk"), "{error}");
    assert_eq!(archives(fixture.folder()), [""; 0]);

    fs::write(&target, "mine").unwrap();
    let (code, _, error) = fixture.run(&["backup", target.to_str().unwrap()]);
    assert_eq!(code, 1);
    assert!(error.contains("exists already"), "{error}");
    assert_eq!(fs::read_to_string(&target).unwrap(), "mine");

    let (code, _, error) =
        run(fixture.folder(), &[("DATABASE_URL", "sqlite://missing.db")], &["backup", "other.tar.zst"]);
    assert_eq!(code, 1);
    assert!(error.contains("there is no database"), "{error}");
    assert!(!fixture.folder().join("missing.db").exists());

    let inside = TempDir::new().unwrap();
    let (code, out, _) = fixture.run(&["backup", inside.path().to_str().unwrap()]);
    assert_eq!(code, 0);
    let names = archives(inside.path());
    assert!(names.len() == 1 && names[0].starts_with("ai-chat-mcp-2"), "{out}: {names:?}");
}

#[tokio::test]
async fn missing_programs_of_postgresql_are_named() {
    if !databases().contains(&Database::Postgres) {
        return;
    }
    let fixture = Fixture::start(Database::Postgres).await;
    let settings = [("DATABASE_URL", fixture.url.as_str()), ("PATH", "/nowhere")];
    let mut without = Command::new(env!("CARGO_BIN_EXE_ai-chat-mcp"));
    without.current_dir(fixture.folder()).envs(settings).env("CHAT_DATA_DIR", fixture.folder());
    let output = without.args(["backup", "chat.tar.zst"]).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(error.contains("pg_dump was not found; install PostgreSQL's client programs"), "{error}");
    assert_eq!(archives(fixture.folder()), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_makes_scheduled_backups_and_deletes_old_ones() {
    for database in databases() {
        let model = ScriptedModel::start([]).await;
        let folder = TempDir::new().unwrap();
        let url = database.create(&folder);
        let backups = folder.path().join("backups");
        fs::create_dir(&backups).unwrap();
        let old = ["ai-chat-mcp-20200102T020000Z.tar.zst", "ai-chat-mcp-20200101T020000Z.tar.zst"];
        let kept = ["ai-chat-mcp-before-upgrade.tar.zst", "notes.txt"];
        for name in old.iter().chain(&kept) {
            fs::write(backups.join(name), "").unwrap();
        }
        let settings =
            [("DATABASE_URL", url.as_str()), ("CHAT_BACKUP_DIR", backups.to_str().unwrap()), ("CHAT_BACKUP_KEEP", "2")];
        let program = Program::start_in(folder, &model.base_url, &settings);
        program.until_ready(200).await;
        let names = || {
            let entries =
                fs::read_dir(&backups).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
            let mut names: Vec<String> = entries.filter(|name| !name.starts_with('.')).collect();
            names.sort();
            names
        };
        while names().contains(&old[1].to_owned()) {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        let names = names();
        assert_eq!(names.len(), 4, "{names:?}");
        assert!(kept.iter().chain([&old[0]]).all(|name| names.contains(&(*name).to_owned())), "{names:?}");
        let (_, out, _) = run(program.folder.path(), &settings, &["doctor"]);
        assert!(out.contains("pass  scheduled backups: the newest in"), "{out}");
        let made = names.iter().find(|name| !old.contains(&name.as_str()) && !kept.contains(&name.as_str())).unwrap();
        let archive = backups.join(made);
        let folder = program.stop();
        let (code, out, error) = run(folder.path(), &settings[..1], &["restore", archive.to_str().unwrap(), "--yes"]);
        assert_eq!(code, 0, "{out}{error}");
    }
}
