//! Shared servers, the policy for sign-ups, diagnostics, test emails and backups.

use axum::http::Method;
use domain::{Clock, SystemClock, ids};
use reqwest::StatusCode;
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::databases;

use super::{Operator, builder};

#[tokio::test]
async fn offers_and_withdraws_shared_servers_without_showing_secrets() {
    for database in databases() {
        let app = builder(database).set("CHAT_AUTOCONFIRM", "off").start().await;
        let operator = Operator { app: &app };
        let offer = json!({
            "name": "Notes", "url": "http://127.0.0.1:9/mcp?key=hidden", "description": "Notes of the team",
            "headers": { "Authorization": "Bearer hidden" }, "domains": ["example.com"],
        });
        operator.call(Method::POST, "/shared-servers", &offer).await;
        let list = operator.get("/shared-servers").await;
        assert!(!list.to_string().contains("hidden"), "{list}");
        let server = &list["servers"][0];
        assert_eq!((&server["name"], &server["hasHeaders"]), (&json!("Notes"), &json!(true)));
        assert_eq!(
            (&server["url"], &server["domains"]),
            (&json!("http://127.0.0.1:9/mcp?key=***"), &json!(["example.com"]))
        );
        for (field, value) in [("name", ""), ("url", "ftp://example.com"), ("url", "http://a:b@example.com/")] {
            let mut bad = offer.clone();
            bad[field] = json!(value);
            let (status, error) = operator.send(Method::POST, "/shared-servers", &bad).await;
            let expected = (StatusCode::UNPROCESSABLE_ENTITY, &json!("invalid_offer"));
            assert_eq!((status, &error["error"]["code"]), expected, "{field} {value}");
        }
        let bad = json!({ "name": "Notes", "url": "http://127.0.0.1:9/mcp", "domains": ["not a domain"] });
        assert_eq!(operator.send(Method::POST, "/shared-servers", &bad).await.0, StatusCode::UNPROCESSABLE_ENTITY);
        let path = format!("/shared-servers/{}", server["id"].as_str().unwrap());
        operator.call(Method::DELETE, &path, &json!({})).await;
        assert_eq!(operator.get("/shared-servers").await["servers"], json!([]));
        assert_eq!(operator.send(Method::DELETE, &path, &json!({})).await.0, StatusCode::NOT_FOUND);
    }
}

#[tokio::test]
async fn offers_nothing_to_domains_while_nobody_proves_addresses() {
    for database in databases() {
        let app = builder(database).start().await;
        let operator = Operator { app: &app };
        let mut offer = json!({ "name": "Notes", "url": "http://127.0.0.1:9/mcp", "domains": ["example.com"] });
        let (status, refused) = operator.send(Method::POST, "/shared-servers", &offer).await;
        assert_eq!((status, &refused["error"]["code"]), (StatusCode::UNPROCESSABLE_ENTITY, &json!("invalid_offer")));
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(message.starts_with("domains need proven addresses"), "{message}");
        assert_eq!(operator.get("/shared-servers").await["servers"], json!([]));
        offer["domains"] = json!([]);
        operator.call(Method::POST, "/shared-servers", &offer).await;
    }
}

#[tokio::test]
async fn describes_the_policy_for_sign_ups() {
    for database in databases() {
        let app = builder(database).set("CHAT_SIGNUP_DOMAINS", "example.com, example.org").start().await;
        let server = Operator { app: &app }.get("/server").await;
        let policy = &server["signUps"];
        assert_eq!((&policy["mode"], &policy["domains"]), (&json!("open"), &json!(["example.com", "example.org"])));
        assert_eq!((&policy["hasMail"], &policy["provider"]), (&json!(false), &Value::Null));
        assert_eq!(server["database"], app.state.storage.kind());
    }
}

#[tokio::test]
async fn examines_the_running_server() {
    for database in databases() {
        let app = builder(database)
            .set("OPENAI_API_KEY", "a key that stays secret")
            .set("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
            .start()
            .await;
        let operator = Operator { app: &app };
        let report = operator.get("/diagnostics").await;
        assert_eq!(report["healthy"], false, "the model provider cannot be reached: {report}");
        let verdict = |name: &str| {
            let findings = report["findings"].as_array().unwrap();
            findings.iter().find(|finding| finding["name"] == name).unwrap_or_else(|| panic!("{name}: {report}"))["verdict"].clone()
        };
        for name in ["data folder", "master key", "database", "schema", "stored secrets", "clock"] {
            assert_eq!(verdict(name), "pass", "{name}");
        }
        assert_eq!(verdict("model provider openai"), "fail");
        for secret in ["stays secret", super::TOKEN] {
            assert!(!report.to_string().contains(secret));
        }
        // The examination has not disturbed the server.
        app.person().await;
        assert_eq!(operator.get("/users").await["total"], 1);
    }
}

#[tokio::test]
async fn says_why_a_test_email_was_not_sent() {
    for database in databases() {
        let app = builder(database).start().await;
        let to = json!({ "to": "operator@example.com" });
        let (status, error) = Operator { app: &app }.send(Method::POST, "/test-email", &to).await;
        assert_eq!(
            (status, &error["error"]["code"]),
            (StatusCode::UNPROCESSABLE_ENTITY, &json!("email_provider_disabled"))
        );

        let app = builder(database).set("SMTP_URL", "smtp://name:hidden@127.0.0.1:9").start().await;
        let operator = Operator { app: &app };
        let (status, error) = operator.send(Method::POST, "/test-email", &to).await;
        assert_eq!((status, &error["error"]["code"]), (StatusCode::BAD_GATEWAY, &json!("email_not_sent")));
        let message = error["error"]["message"].as_str().unwrap();
        assert!(message.starts_with("the mail server cannot be reached") && !message.contains("hidden"), "{message}");
        let (status, _) = operator.send(Method::POST, "/test-email", &json!({ "to": "nobody" })).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn makes_and_lists_backups() {
    for database in databases() {
        let app = builder(database).start().await;
        let operator = Operator { app: &app };
        assert_eq!(operator.get("/backups").await["schedule"], Value::Null);
        let (status, error) = operator.send(Method::POST, "/backups", &json!({})).await;
        assert_eq!((status, &error["error"]["code"]), (StatusCode::UNPROCESSABLE_ENTITY, &json!("no_backups")));

        let folder = TempDir::new().unwrap();
        // As if a scheduled backup had been made, so that none is due.
        let time = SystemClock.now().plus_seconds(-5).to_rfc3339();
        let name = format!("ai-chat-mcp-{}Z.tar.zst", time[..19].replace([':', '-'], ""));
        std::fs::write(folder.path().join(&name), "a backup").unwrap();
        std::fs::write(folder.path().join(format!("{}.txt", ids::fresh())), "another file").unwrap();
        let app = builder(database)
            .set("CHAT_BACKUP_DIR", folder.path().display().to_string())
            .set("CHAT_BACKUP_KEEP", "3")
            .start()
            .await;
        let operator = Operator { app: &app };
        let schedule = operator.get("/backups").await["schedule"].clone();
        assert_eq!((&schedule["keep"], &schedule["time"]), (&json!(3), &json!("02:00")));
        assert_eq!(schedule["folder"], folder.path().display().to_string());
        assert_eq!((&schedule["backups"][0]["name"], &schedule["backups"][0]["bytes"]), (&json!(name), &json!(8)));
        let (status, error) = operator.send(Method::POST, "/backups", &json!({})).await;
        assert_eq!(status, StatusCode::NO_CONTENT, "{error}");
        let backups = operator.get("/backups").await["schedule"]["backups"].clone();
        assert_eq!(backups.as_array().unwrap().len(), 2, "{backups}");
        assert!(backups[0]["bytes"].as_u64().unwrap() > 1_000, "{backups}");
        let log = operator.get("/audit-events").await;
        let (kind, actor) = (&log["events"][0]["kind"], &log["events"][0]["actor"]);
        assert_eq!((kind, actor, &log["events"][0]["user"]), (&json!("backup_created"), &json!("admin"), &Value::Null));
    }
}
