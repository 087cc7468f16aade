//! Groups of the provider, which decide about models.

use reqwest::Method;
use serde_json::{Value, json};
use testkit::{ScriptedModel, Step, TestApp, databases};

use super::browser::Site;
use crate::auth::admin::{KEY, admin};
use crate::auth::caller::{PASSWORD, post};

/// Calls the API with a session, and returns status and body.
async fn call(site: &Site, token: &str, method: Method, path: &str, body: &Value) -> (u16, Value) {
    let request = site.app.http.request(method, format!("{}{path}", site.app.url)).bearer_auth(token);
    let answer = request.json(body).send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap_or_default())
}

/// Returns the user's models and the default one.
async fn models(site: &Site, token: &str) -> (Vec<String>, Value) {
    let (status, listed) = call(site, token, Method::GET, "/api/models", &json!({})).await;
    assert_eq!(status, 200, "{listed}");
    let names = listed["models"].as_array().unwrap().iter().map(|model| model["id"].as_str().unwrap().to_owned());
    (names.collect(), listed["default"].clone())
}

#[tokio::test]
async fn groups_and_domains_decide_about_models() {
    for database in databases() {
        let model = ScriptedModel::start([]).await;
        model.always(Step::Text("Hello.".into()));
        let builder = TestApp::builder()
            .database(database)
            .set("OPENAI_BASE_URL", &model.base_url)
            .set("CHAT_LOCAL_MODEL", "off")
            .set("CHAT_OIDC_GROUPS_CLAIM", "roles")
            .set("CHAT_SERVICE_ROLE_KEY", KEY)
            .set("CHAT_MODEL_ACCESS", "example.com=openai/other*; group:research=openai/scripted");
        let site = Site::start_with(builder).await;
        site.provider.script().claims = json!({ "roles": ["research", "staff"] });
        let session = site.sign_in().await.body;
        let token = session["access_token"].as_str().unwrap();
        assert_eq!(models(&site, token).await, (vec!["openai/scripted".to_owned()], json!("openai/scripted")));
        let chat = domain::ids::fresh().to_string();
        let made = json!({ "id": chat, "user_id": session["user"]["id"], "title": "New Chat" });
        let (status, answer) = call(&site, token, Method::POST, "/rest/v1/ai_chat_sessions", &made).await;
        assert_eq!(status, 201, "{answer}");
        let path = format!("/api/sessions/{chat}/model");
        let choice = json!({ "model": "openai/scripted" });
        assert_eq!(call(&site, token, Method::PUT, &path, &choice).await.0, 200);

        // The next sign-in says that the user has left the group.
        site.provider.script().claims = json!({ "roles": [] });
        let session = site.sign_in().await.body;
        let token = session["access_token"].as_str().unwrap();
        assert_eq!(models(&site, token).await, (Vec::new(), Value::Null));
        assert_eq!(call(&site, token, Method::PUT, &path, &choice).await.0, 422);
        let ask = json!({ "message": "Hello", "sessionId": chat, "tools": [] });
        let (status, refused) = call(&site, token, Method::POST, "/functions/v1/ai-chat", &ask).await;
        assert!(status == 502 && refused["error"].as_str().unwrap().contains("no longer available"), "{refused}");
        assert_eq!(model.requests().len(), 0);
        let (_, key) = call(&site, token, Method::POST, "/api/keys", &json!({ "name": "k", "scopes": ["chat"] })).await;
        let complete = async |name: &str| {
            let body = json!({ "model": name, "messages": [{ "role": "user", "content": "Hi" }] });
            call(&site, key["secret"].as_str().unwrap(), Method::POST, "/v1/chat/completions", &body).await.0
        };
        assert_eq!((complete("openai/scripted").await, complete("openai/other").await), (404, 200));

        // Groups are not part of access tokens, and an address of another domain has no rule.
        assert!(session["user"]["user_metadata"].get("groups").is_none());
        let account = json!({ "email": "eve@example.org", "password": PASSWORD, "email_confirm": true });
        assert_eq!(admin(&site.app, Method::POST, "/admin/users", &account).await.status, 200);
        let body = json!({ "email": "eve@example.org", "password": PASSWORD });
        let signed_in = post(&site.app, "/token?grant_type=password", &body).await.body;
        let listed = models(&site, signed_in["access_token"].as_str().unwrap()).await;
        assert_eq!(listed, (Vec::new(), Value::Null));
        site.app.stop().await;
    }
}
