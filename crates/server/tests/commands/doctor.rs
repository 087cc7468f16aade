//! The command `doctor`.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use accounts::signing_keys::generate;
use serde_json::{Value, json};
use storage::Storage;
use storage::raw::RawStatement;
use tempfile::TempDir;
use testkit::{Database, Person, ScriptedModel, Step, databases, http_client};

use crate::program::{Program, free_address, run};

/// Returns the verdict and the message of a finding.
fn finding(report: &Value, name: &str) -> (String, String) {
    let findings = report["findings"].as_array().unwrap();
    let finding = findings.iter().find(|finding| finding["name"] == name).unwrap();
    let text = |field: &str| finding[field].as_str().unwrap().to_owned();
    (text("verdict"), text("message"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_server_passes_every_examination() {
    for database in databases() {
        let model = ScriptedModel::start([]).await;
        model.always(Step::Text("Yes.".into()));
        let folder = TempDir::new().unwrap();
        let url = database.create(&folder);
        let settings = [("DATABASE_URL", url.as_str()), ("OPENAI_BASE_URL", &model.base_url)];
        let program = Program::start_in(folder, &model.base_url, &settings);
        program.until_ready(200).await;
        let person = Person::sign_up_at(&program.url, &http_client()).await;
        let own = json!({
            "name": "Mine", "kind": "compatible", "baseUrl": "https://models.example/v1", "key": "sk-secret-of-the-user",
        });
        assert_eq!(person.post("/api/model-providers", &own).await.0, 201);
        let (code, out, _) = run(program.folder.path(), &settings, &["doctor", "--json"]);
        let report: Value = serde_json::from_str(&out).unwrap();
        assert_eq!((code, &report["healthy"]), (0, &json!(true)), "{out}");
        for name in ["settings", "database", "schema", "master key", "clock", "model provider openai"] {
            assert_eq!(finding(&report, name).0, "pass", "{name}: {out}");
        }
        assert_eq!(finding(&report, "stored secrets"), ("pass".to_owned(), "3 of 3 can be opened".to_owned()));
        assert!(finding(&report, "data folder").1.ends_with("in use by a server"), "{out}");
        assert_eq!(finding(&report, "built-in model").1, "switched off");

        // With another key, nothing can be opened.
        fs::write(program.folder.path().join("master.key"), "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=").unwrap();
        let (code, out, _) = run(program.folder.path(), &settings, &["doctor"]);
        assert_eq!(code, 1);
        let wanted =
            "FAIL  stored secrets: some cannot be opened: 1 in model_providers, 1 in push_keys, 1 in signing_keys -> ";
        assert!(out.contains(wanted), "{out}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn names_tables_with_unreadable_rows() {
    for database in databases() {
        let model = ScriptedModel::start([]).await;
        model.always(Step::Text("Yes.".into()));
        let folder = TempDir::new().unwrap();
        let url = database.create(&folder);
        let settings = [("DATABASE_URL", url.as_str())];
        let program = Program::start_in(folder, &model.base_url, &settings);
        program.until_ready(200).await;
        let person = Person::sign_up_at(&program.url, &http_client()).await;
        let chat = person.new_chat().await;
        assert_eq!(person.ask(&chat, "Is this a secret?", json!([])).await.0, 200);
        let folder = program.stop();
        let examine =
            || serde_json::from_str::<Value>(&run(folder.path(), &settings, &["doctor", "--json"]).1).unwrap();
        let report = examine();
        assert_eq!(finding(&report, "stored rows"), ("pass".to_owned(), "all can be read".to_owned()), "{report}");

        let storage = Storage::open(&url).await.unwrap();
        for damage in [
            "UPDATE ai_chat_messages SET tool_calls = 'Secret plans' WHERE role = 'assistant'",
            "UPDATE turns SET tools = '{'",
        ] {
            let mut statement = RawStatement::default();
            statement.push(damage);
            let mut transaction = storage.begin_writing().await.unwrap();
            transaction.fetch(&statement, 0).await.unwrap();
            transaction.commit().await.unwrap();
        }
        storage.close().await;
        drop(storage);
        let report = examine();
        let (verdict, message) = finding(&report, "stored rows");
        assert_eq!((verdict.as_str(), &report["healthy"]), ("fail", &json!(false)));
        for table in ["1 in ai_chat_messages (first: id ", "1 in turns (first: id "] {
            assert!(message.contains(table), "{message}");
        }
        assert!(!message.contains("ecret"), "{message}");
    }
}

#[tokio::test]
async fn names_what_is_wrong_and_creates_nothing() {
    let folder = TempDir::new().unwrap();
    let nowhere = free_address();
    let data = folder.path().join("data");
    fs::create_dir(&data).unwrap();
    fs::set_permissions(&data, Permissions::from_mode(0o755)).unwrap();
    let (provider, mail) = (format!("http://{nowhere}/v1"), format!("smtp://{nowhere}"));
    let settings = [
        ("CHAT_DATA_DIR", data.to_str().unwrap()),
        ("OPENAI_BASE_URL", &provider),
        ("SMTP_URL", &mail),
        ("CHAT_LOCAL_MODEL", "missing.gguf"),
        ("CHAT_LISTN", "typo"),
    ];
    let (code, out, _) = run(folder.path(), &settings, &["doctor", "--json"]);
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &report["healthy"]), (1, &json!(false)));
    for (name, verdict) in [
        ("settings", "fail"),
        ("data folder", "warn"),
        ("master key", "warn"),
        ("database", "warn"),
        ("mail server", "fail"),
        ("model provider openai", "fail"),
        ("built-in model", "warn"),
    ] {
        assert_eq!(finding(&report, name).0, verdict, "{name}: {out}");
    }
    assert!(finding(&report, "settings").1.contains("did you mean CHAT_LISTEN?"), "{out}");
    assert_eq!(fs::read_dir(&data).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn finds_a_damaged_database_and_readable_keys() {
    let (folder, secrets) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let url = Database::Sqlite.create(&folder);
    let keys = secrets.path().join("keys.json");
    fs::write(&keys, generate().unwrap()).unwrap();
    fs::set_permissions(&keys, Permissions::from_mode(0o640)).unwrap();
    let settings = [("DATABASE_URL", url.as_str()), ("CHAT_JWT_KEYS", keys.to_str().unwrap())];
    let program = Program::start_in(folder, "http://127.0.0.1:9", &settings);
    program.until_ready(200).await;
    let folder = program.stop();
    let examine = || serde_json::from_str::<Value>(&run(folder.path(), &settings, &["doctor", "--json"]).1).unwrap();
    let report = examine();
    for name in ["database", "signing keys"] {
        assert_eq!(finding(&report, name).0, "pass", "{report}");
    }

    fs::set_permissions(&keys, Permissions::from_mode(0o644)).unwrap();
    let file = url.strip_prefix("sqlite://").unwrap();
    let mut bytes = fs::read(file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..].fill(0x5A);
    fs::write(file, bytes).unwrap();
    let report = examine();
    assert_eq!(finding(&report, "signing keys").0, "warn", "{report}");
    assert_eq!(finding(&report, "database").0, "fail", "{report}");
}

#[test]
fn names_private_files_that_all_users_can_read() {
    let (folder, backups) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let path = |name: &str| folder.path().join(name);
    let data = path("data");
    fs::create_dir(&data).unwrap();
    fs::set_permissions(&data, Permissions::from_mode(0o700)).unwrap();
    let backup = backups.path().join("ai-chat-mcp-20261121T100000Z.tar.zst");
    let key = "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=";
    let files = [
        (path("ai-chat-mcp.toml"), "CHAT_AUTOCONFIRM = \"on\"\n"),
        (path("linked.key"), key),
        (path("secret"), key),
        (path("chat.db"), ""),
        (path("chat.db-wal"), ""),
        (backup, ""),
    ];
    for (path, content) in &files {
        fs::write(path, content).unwrap();
        fs::set_permissions(path, Permissions::from_mode(0o644)).unwrap();
    }
    std::os::unix::fs::symlink(path("linked.key"), data.join("master.key")).unwrap();
    let url = format!("sqlite://{}", path("chat.db").display());
    let secret = path("secret");
    let settings = [
        ("CHAT_DATA_DIR", data.to_str().unwrap()),
        ("DATABASE_URL", &url),
        ("CHAT_MASTER_KEY_FILE", secret.to_str().unwrap()),
        ("CHAT_BACKUP_DIR", backups.path().to_str().unwrap()),
    ];
    let examine = || serde_json::from_str::<Value>(&run(folder.path(), &settings, &["doctor", "--json"]).1).unwrap();
    let report = examine();
    let (verdict, message) = finding(&report, "private files");
    assert_eq!(verdict, "warn", "{report}");
    let names = ["ai-chat-mcp.toml", "data/master.key", "secret", "chat.db", "chat.db-wal", "T100000Z.tar.zst"];
    for name in names {
        assert!(message.split([',', ' ']).any(|word| word.ends_with(name)), "{name}: {message}");
    }
    let spaces = report["findings"].as_array().unwrap().iter().filter(|finding| finding["name"] == "disk space");
    let folder_of_backups = backups.path().to_str().unwrap();
    assert!(spaces.filter_map(|space| space["message"].as_str()).any(|text| text.ends_with(folder_of_backups)));

    for (path, _) in &files {
        fs::set_permissions(path, Permissions::from_mode(0o640)).unwrap();
    }
    let report = examine();
    assert_eq!(finding(&report, "private files").0, "pass", "{report}");
}

#[test]
fn warnings_are_no_failure() {
    let folder = TempDir::new().unwrap();
    let settings = [("CHAT_DATA_DIR", "new")];
    let (code, out, _) = run(folder.path(), &settings, &["doctor"]);
    assert_eq!(code, 0, "{out}");
    assert!(
        out.contains("pass  settings: valid\n") && out.contains("WARN  data folder: new does not exist -> "),
        "{out}"
    );
    let unreachable = [("DATABASE_URL", "postgres://nobody@127.0.0.1:1/nothing"), ("CHAT_DATA_DIR", "new")];
    let (code, out, _) = run(folder.path(), &unreachable, &["doctor"]);
    assert_eq!(code, 1);
    assert!(out.contains("FAIL  database: cannot connect to PostgreSQL: "), "{out}");
}
