//! The signing keys of tokens.

use accounts::signing_keys::generate;
use reqwest::Method;
use serde_json::{Value, json};
use testkit::{TestApp, databases};

use super::caller::{get_user, refresh, refused, request, send};

async fn key_ids(app: &TestApp) -> Vec<Value> {
    let answer = send(request(app, Method::GET, "/.well-known/jwks.json")).await;
    answer.body["keys"].as_array().unwrap().iter().map(|key| key["kid"].clone()).collect()
}

#[tokio::test]
async fn the_public_keys_are_published_for_ten_minutes_and_the_private_ones_never() {
    for database in databases() {
        let app = TestApp::on(database).await;
        let mut bodies = Vec::new();
        for path in ["/auth/v1/.well-known/jwks.json", "/.well-known/jwks.json"] {
            let answer = app.http.get(format!("{}{path}", app.url)).send().await.unwrap();
            assert_eq!(answer.headers()["cache-control"], "public, max-age=600");
            bodies.push(answer.json::<Value>().await.unwrap());
        }
        assert_eq!(bodies[0], bodies[1]);
        let key = &bodies[0]["keys"][0];
        assert_eq!((&key["kty"], &key["crv"], &key["alg"]), (&json!("EC"), &json!("P-256"), &json!("ES256")));
        assert!(key.get("d").is_none());
    }
}

#[tokio::test]
async fn tokens_outlive_a_restart() {
    for database in databases() {
        let app = TestApp::on(database).await;
        let person = app.person().await;
        let ids = key_ids(&app).await;
        let (folder, url) = app.stop().await;
        let app = TestApp::builder().on_data_of(&folder, &url).start().await;
        assert_eq!(key_ids(&app).await, ids);
        assert_eq!(get_user(&app, &person.token).await.status, 200);
        assert_eq!(refresh(&app, &person.refresh_token).await.status, 200);
    }
}

#[tokio::test]
async fn keys_of_ones_own_replace_the_made_one_and_can_be_changed_without_signing_anybody_out() {
    for database in databases() {
        let named = |kid: &str| {
            let mut key: Value = serde_json::from_str(&generate().unwrap()).unwrap();
            key["kid"] = json!(kid);
            key
        };
        let (old, new) = (named("old"), named("new"));
        let files = tempfile::TempDir::new().unwrap();
        let file = files.path().join("keys.json");
        let path = file.display().to_string();

        std::fs::write(&file, old.to_string()).unwrap();
        let app = TestApp::builder().database(database).set("CHAT_JWT_KEYS", path.clone()).start().await;
        assert_eq!(key_ids(&app).await, ["old"]);
        let person = app.person().await;
        let (folder, url) = app.stop().await;

        std::fs::write(&file, json!({ "keys": [new, old] }).to_string()).unwrap();
        let app = TestApp::builder().on_data_of(&folder, &url).set("CHAT_JWT_KEYS", path.clone()).start().await;
        assert_eq!(key_ids(&app).await, ["new", "old"]);
        assert_eq!(get_user(&app, &person.token).await.status, 200, "the retired key still verifies");
        let (folder, url) = app.stop().await;

        std::fs::write(&file, json!([new]).to_string()).unwrap();
        let app = TestApp::builder().on_data_of(&folder, &url).set("CHAT_JWT_KEYS", path).start().await;
        assert_eq!(get_user(&app, &person.token).await.refusal(), refused(403, "bad_jwt"));
        assert_eq!(refresh(&app, &person.refresh_token).await.status, 200);
    }
}

#[tokio::test]
async fn another_master_key_is_refused_at_start() {
    for database in databases() {
        let (folder, url) = TestApp::on(database).await.stop().await;
        let source = platform::config::Source::default()
            .with("CHAT_DATA_DIR", folder.path().display().to_string())
            .with("DATABASE_URL", url)
            .with("CHAT_LOCAL_MODEL", "off")
            .with("CHAT_MASTER_KEY", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=");
        let config = platform::config::Config::from_source(source).unwrap();
        let refusal = server::app::App::start(config, ([127, 0, 0, 1], 1).into()).await.unwrap_err();
        assert!(format!("{refusal:#}").contains("another master key"), "{refusal:#}");
    }
}
