//! Form of requests and errors.

use reqwest::Method;
use serde_json::{Value, json};
use testkit::{TestApp, databases};

use super::caller::{put_user, refused, request, send};

#[tokio::test]
async fn errors_can_be_read_in_both_versions_of_the_protocol() {
    let app = TestApp::start().await;
    let message = "Password should be at least 6 characters.";
    let weak = json!({ "email": "a@b.c", "password": "12345" });

    let words = request(&app, Method::POST, "/signup").header("x-supabase-api-version", "2024-01-01").json(&weak);
    let answer = words.send().await.unwrap();
    assert_eq!(answer.status(), 422);
    assert_eq!(answer.headers()["x-supabase-api-version"], "2024-01-01");
    assert_eq!(answer.headers()["x-sb-error-code"], "weak_password");
    let expected = json!({ "code": "weak_password", "error_code": "weak_password", "message": message, "msg": message,
                           "weak_password": { "reasons": ["length"] } });
    assert_eq!(answer.json::<Value>().await.unwrap(), expected);

    let answer = request(&app, Method::POST, "/signup").json(&weak).send().await.unwrap();
    assert!(!answer.headers().contains_key("x-supabase-api-version"));
    assert_eq!(answer.headers()["cache-control"], "no-store");
    let body: Value = answer.json().await.unwrap();
    assert_eq!((&body["code"], &body["error_code"]), (&json!(422), &json!("weak_password")));
}

#[tokio::test]
async fn a_bad_body_is_the_callers_fault() {
    for database in databases() {
        let app = TestApp::on(database).await;
        let person = app.person().await;
        let bodies = [
            "",
            "{",
            "null",
            "[]",
            "\"a\"",
            "{\"email\":1}",
            "{\"password\":[]}",
            "{\"email\":\"a@b.c\"",
            "\u{0}",
            "{\"email\":\"\\ud800\"}",
            "{\"password\":{\"$ne\":1}}",
            "{\"data\":[1]}",
        ];
        let calls = [
            (Method::POST, "/signup"),
            (Method::POST, "/token?grant_type=password"),
            (Method::POST, "/token?grant_type=refresh_token"),
            (Method::POST, "/token?grant_type=pkce"),
            (Method::POST, "/verify"),
            (Method::PUT, "/user"),
        ];
        for (method, path) in calls {
            for body in bodies {
                let request = request(&app, method.clone(), path).bearer_auth(&person.token).body(body);
                let status = send(request).await.status;
                assert!(
                    (400..500).contains(&status) || (path == "/user" && status == 200),
                    "{path} {body:?}: {status}"
                );
            }
            let deep = "[".repeat(100_000);
            let answer = send(request(&app, method.clone(), path).bearer_auth(&person.token).body(deep)).await;
            assert_eq!(answer.refusal(), refused(400, "bad_json"), "{path}");
            let large = format!("{{\"email\":\"{}\"}}", "a".repeat(1024 * 1024));
            let answer = send(request(&app, method, path).bearer_auth(&person.token).body(large)).await;
            assert_eq!(answer.refusal(), refused(413, "request_entity_too_large"), "{path}");
        }
        assert_eq!(put_user(&app, &person.token, &json!({ "data": 1 })).await.refusal(), refused(400, "bad_json"));
    }
}

#[tokio::test]
async fn what_is_not_there_says_so() {
    let app = TestApp::start().await;
    let table = [
        (Method::GET, "", 404, "not_found"),
        (Method::GET, "/nothing", 404, "not_found"),
        (Method::GET, "/admin/nothing", 404, "not_found"),
        (Method::GET, "/signup", 405, "method_not_allowed"),
        (Method::DELETE, "/user", 405, "method_not_allowed"),
        (Method::OPTIONS, "/token", 405, "method_not_allowed"),
        (Method::POST, "/recover", 400, "email_provider_disabled"),
        (Method::POST, "/magiclink", 422, "email_provider_disabled"),
        (Method::GET, "/reauthenticate", 401, "no_authorization"),
    ];
    for (method, path, status, code) in table {
        let answer = send(request(&app, method.clone(), path)).await;
        assert_eq!(answer.refusal(), refused(status, code), "{method} {path}");
    }
}

#[tokio::test]
async fn null_is_an_object_without_fields() {
    for database in databases() {
        let builder = TestApp::builder().database(database).set("CHAT_AUTOCONFIRM", "on");
        let app = builder.set("SMTP_URL", "smtp://127.0.0.1:9").start().await;
        let person = app.person().await;
        let table = [
            (Method::POST, "/signup", 422, "anonymous_provider_disabled"),
            (Method::POST, "/token?grant_type=password", 400, "validation_failed"),
            (Method::POST, "/token?grant_type=refresh_token", 400, "validation_failed"),
            (Method::POST, "/token?grant_type=pkce", 400, "validation_failed"),
            (Method::POST, "/token?grant_type=id_token", 400, "validation_failed"),
            (Method::POST, "/recover", 400, "validation_failed"),
            (Method::POST, "/otp", 400, "validation_failed"),
            (Method::POST, "/magiclink", 422, "validation_failed"),
            (Method::POST, "/resend", 400, "validation_failed"),
            (Method::POST, "/verify", 400, "validation_failed"),
            (Method::POST, "/factors", 400, "validation_failed"),
        ];
        for (method, path, status, code) in table {
            for body in ["null", "{}", " null "] {
                let request = request(&app, method.clone(), path).bearer_auth(&person.token).body(body);
                assert_eq!(send(request).await.refusal(), refused(status, code), "{path} {body}");
            }
        }
        let nothing = put_user(&app, &person.token, &Value::Null).await;
        assert_eq!((nothing.status, nothing.text("/id")), (200, person.id));
    }
}

#[tokio::test]
async fn what_is_no_date_is_no_version() {
    let app = TestApp::start().await;
    for (version, words) in [
        ("2024-01-01", true),
        ("2099-12-31", true),
        ("2023-12-31", false),
        ("2024-13-01", false),
        ("2024-1-01", false),
        ("2024-01-01T00", false),
        ("zzzz-zz-zz", false),
        ("", false),
    ] {
        let call = request(&app, Method::GET, "/user").header("x-supabase-api-version", version);
        let answer = call.send().await.unwrap();
        assert_eq!(answer.headers().contains_key("x-supabase-api-version"), words, "{version}");
        assert_eq!(answer.json::<Value>().await.unwrap()["code"].is_string(), words, "{version}");
    }
}

#[tokio::test]
async fn settings_and_health_tell_what_is_offered() {
    let app = TestApp::start().await;
    let settings = send(request(&app, Method::GET, "/settings")).await;
    let external = settings.body["external"].as_object().unwrap();
    let offered: Vec<&String> =
        external.iter().filter(|(_, offered)| **offered == json!(true)).map(|(name, _)| name).collect();
    assert_eq!(offered, ["email"]);
    assert!(["anonymous_users", "phone", "google", "github", "azure"].iter().all(|name| external[*name] == false));
    for off in ["disable_signup", "phone_autoconfirm", "saml_enabled", "saml_private_key_next_configured"] {
        assert_eq!(settings.body[off], false, "{off}");
    }
    assert_eq!(settings.body["passkeys_enabled"], true);
    assert_eq!(settings.body["sms_provider"], "");
    assert_eq!(settings.body["mailer_autoconfirm"], true);
    let health = send(request(&app, Method::GET, "/health")).await;
    assert_eq!((health.status, health.text("/version").as_str()), (200, env!("CARGO_PKG_VERSION")));
}
