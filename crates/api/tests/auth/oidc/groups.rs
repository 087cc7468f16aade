//! Groups of the provider, which decide about models and shared servers.

use std::collections::BTreeMap;

use connections::shared_servers::ServerOffer;
use reqwest::Method;
use serde_json::{Value, json};
use testkit::{ScriptedModel, StatefulMcp, Step, TestApp, databases};

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
            .set("CHAT_AUTOCONFIRM", "off")
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

#[tokio::test]
async fn groups_decide_about_shared_servers() {
    for database in databases() {
        let mcp = StatefulMcp::start([json!({ "name": "send" })]).await;
        let site = Site::start_with(TestApp::builder().database(database).set("CHAT_OIDC_GROUPS_CLAIM", "roles")).await;
        let offer = async |domain: Option<&str>, groups: &[&str]| {
            let state = &site.app.state;
            let domains: Vec<_> = domain.iter().map(|domain| domain.parse().unwrap()).collect();
            let groups: Vec<String> = groups.iter().map(|group| (*group).to_owned()).collect();
            let offer = ServerOffer {
                name: "post",
                url: &mcp.url,
                description: "",
                headers: &BTreeMap::new(),
                domains: &domains,
                groups: &groups,
            };
            offer.store(&state.storage, &state.secrets, state.clock.now(), &state.audit).await
        };
        let refused = offer(None, &[" "]).await.unwrap_err();
        assert_eq!(refused.to_string(), "a group has no name");
        offer(None, &["staff", "board"]).await.unwrap();
        let sign_in = async |claims: Value| {
            site.provider.script().claims = claims;
            site.sign_in().await.text("/access_token")
        };
        let offered = async |token: &str| {
            let (_, listed) = call(&site, token, Method::GET, "/api/shared-servers", &json!({})).await;
            listed["servers"].as_array().unwrap().clone()
        };
        let ann = sign_in(json!({ "roles": ["research", "staff", "staff"] })).await;
        let bob = sign_in(json!({ "sub": "bob-1", "email": "bob@example.com", "roles": ["Staff"] })).await;
        assert_eq!(offered(&bob).await, [] as [Value; 0], "the name is exact");
        let server = offered(&ann).await.remove(0);
        let path = format!("/api/shared-servers/{}/connect", server["id"].as_str().unwrap());
        assert_eq!(call(&site, &bob, Method::POST, &path, &json!({})).await.0, 404);
        let (status, connection) = call(&site, &ann, Method::POST, &path, &json!({})).await;
        assert_eq!((status, &connection["status"]), (200, &json!("connected")), "{connection}");
        let run = json!({ "serverName": "post", "name": "send", "arguments": {} });
        let (status, ran) = call(&site, &ann, Method::POST, "/api/tools/run", &run).await;
        assert_eq!(status, 200, "{ran}");
        let calls = mcp.calls();

        // The next sign-in says that Ann has left the group. Her open connection does not outlive that.
        let ann = sign_in(json!({ "roles": ["research"] })).await;
        assert_eq!(offered(&ann).await, [] as [Value; 0]);
        let (status, ran) = call(&site, &ann, Method::POST, "/api/tools/run", &run).await;
        assert!(status != 200 && ran.to_string().contains("no longer offered"), "{status} {ran}");
        assert_eq!(mcp.calls(), calls, "nothing reached the server");
        let refresh = format!("/api/connections/{}/refresh", connection["id"].as_str().unwrap());
        let (_, refused) = call(&site, &ann, Method::POST, &refresh, &json!({})).await;
        assert_eq!(refused["status"], "error", "{refused}");
        assert!(refused["reason"].as_str().unwrap().contains("no longer offered"), "{refused}");

        // A domain is another way to be offered it, and a sign-in into the group brings the connection back.
        offer(Some("example.com"), &["staff"]).await.unwrap();
        assert_eq!((offered(&ann).await.len(), offered(&bob).await.len()), (1, 1));
        offer(None, &["staff"]).await.unwrap();
        let ann = sign_in(json!({ "roles": ["staff"] })).await;
        let (_, back) = call(&site, &ann, Method::POST, &refresh, &json!({})).await;
        assert_eq!(back["status"], "connected", "{back}");
        site.app.stop().await;
    }
}
