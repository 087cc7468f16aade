//! The command `check`.

use std::fs;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::program::run;

/// Returns the line of a setting, without the space between its columns.
fn line(out: &str, name: &str) -> String {
    let line = out.lines().find(|line| line.starts_with(&format!("{name} "))).unwrap();
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn prints_values_and_their_origins_but_no_secret() {
    let folder = TempDir::new().unwrap();
    let file = "CHAT_MAX_TURNS = 7\nCHAT_LISTEN = \"127.0.0.1:1\"\nANTHROPIC_API_KEY = \"sk-hidden\"\n";
    fs::write(folder.path().join("ai-chat-mcp.toml"), file).unwrap();
    let settings = [
        ("CHAT_LISTEN", "127.0.0.1:4000"),
        ("DATABASE_URL", "postgres://chat:hidden@db.example/chat"),
        ("SMTP_URL", "smtp://user:hidden@mail.example"),
    ];
    let (code, out, error) = run(folder.path(), &settings, &["check"]);
    assert_eq!((code, error.as_str()), (0, ""), "{out}");
    assert_eq!(line(&out, "CHAT_LISTEN"), "CHAT_LISTEN 127.0.0.1:4000 environment");
    assert_eq!(line(&out, "CHAT_MAX_TURNS"), "CHAT_MAX_TURNS 7 ai-chat-mcp.toml");
    assert_eq!(line(&out, "CHAT_MAX_STREAMS"), "CHAT_MAX_STREAMS 8000 default");
    assert_eq!(line(&out, "ANTHROPIC_API_KEY"), "ANTHROPIC_API_KEY set ai-chat-mcp.toml");
    assert_eq!(line(&out, "OPENAI_API_KEY"), "OPENAI_API_KEY not set default");
    assert_eq!(line(&out, "DATABASE_URL"), "DATABASE_URL postgres://chat:***@db.example/chat environment");
    assert!(out.ends_with("The settings are valid.\n") && !out.contains("hidden"), "{out}");
    assert!(!folder.path().join("master.key").exists(), "nothing is created");
}

#[test]
fn lists_every_invalid_and_unknown_setting() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("ai-chat-mcp.toml"), "CHAT_MAX_TURN = 7\n").unwrap();
    let settings = [
        ("CHAT_LISTEN", "4000"),
        ("CHAT_RATE_LIMIT", "off"),
        ("CHAT_MASTER_KEY", "too short"),
        ("SMTP_URL", "mail.example"),
        ("DATABASE_URL", "mysql://chat"),
        ("CHAT_JWT_KEYS", "missing.json"),
        ("CHAT_MODEL_CATALOGUE", "missing.json"),
    ];
    let (code, out, _) = run(folder.path(), &settings, &["check"]);
    assert_eq!(code, 1);
    assert!(out.contains("error: CHAT_LISTEN is invalid: it must be an address such as 127.0.0.1:3000\n"), "{out}");
    assert!(out.contains("error: CHAT_MAX_TURN is not a known setting; did you mean CHAT_MAX_TURNS?\n"), "{out}");
    assert_eq!(line(&out, "CHAT_LISTEN"), "CHAT_LISTEN invalid environment");
    for name in ["CHAT_RATE_LIMIT", "CHAT_MASTER_KEY", "SMTP_URL", "DATABASE_URL", "CHAT_JWT_KEYS"] {
        assert!(out.contains(&format!("error: {name}")), "{name}: {out}");
    }
    assert!(!out.contains("too short"), "{out}");

    let (code, out, _) = run(folder.path(), &settings, &["check", "--json"]);
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &report["valid"]), (1, &json!(false)));
    assert_eq!(report["problems"].as_array().unwrap().len(), 8);
    let settings = report["settings"].as_array().unwrap();
    let secret = settings.iter().find(|setting| setting["name"] == "CHAT_MASTER_KEY").unwrap();
    let wanted = json!({
        "name": "CHAT_MASTER_KEY", "value": null, "is_secret": true, "is_set": true, "origin": "environment",
    });
    assert_eq!(secret, &wanted);
}

#[test]
fn a_file_that_cannot_be_read_is_a_problem() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("ai-chat-mcp.toml"), "CHAT_MASTER_KEY = \"hidden").unwrap();
    let (code, out, _) = run(folder.path(), &[], &["check"]);
    assert_eq!(code, 1);
    assert!(out.starts_with("error: ai-chat-mcp.toml cannot be read: ") && !out.contains("hidden"), "{out}");
}
