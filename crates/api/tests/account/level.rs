//! Enforcement of the second factor.

use http_server::route::Access;
use reqwest::Method;
use serde_json::json;
use testkit::{TestApp, databases};

use super::visitor::{Page, another_device, call, with_factor};

#[tokio::test]
async fn without_the_factor_only_the_account_itself_opens() {
    for database in databases() {
        let app = TestApp::on(database).await;
        let person = app.person().await;
        let raised = with_factor(&app, &person).await;
        let lower = another_device(&app, &person, "Browser/1").await;
        let chat = raised.new_chat().await;

        let routes = api::entries();
        let guarded = routes.iter().filter(|entry| {
            entry.path.starts_with("/api/") && matches!(entry.access, Access::SignedIn | Access::Owner)
        });
        let mut seen = 0;
        for entry in guarded {
            let path = entry.path.replace("{id}", &chat);
            let (status, body) = call(&lower, entry.method.clone(), &path, Some(json!({}))).await;
            assert_eq!((status, &body["error"]["code"]), (403, &json!("insufficient_aal")), "{entry:?}");
            seen += 1;
        }
        assert!(seen > 10, "{seen}");

        let (status, body) = call(&lower, Method::POST, "/functions/v1/ai-chat", Some(json!({}))).await;
        assert_eq!((status, &body["code"]), (403, &json!("insufficient_aal")));
        let (status, body) =
            call(&lower, Method::POST, "/functions/v1/mcp-proxy", Some(json!({ "url": "http://a" }))).await;
        assert_eq!((status, &body["success"]), (403, &json!(false)));
        for (method, path) in [
            (Method::GET, "/rest/v1/ai_chat_sessions"),
            (Method::POST, "/rest/v1/ai_chat_sessions"),
            (Method::DELETE, "/rest/v1/mcp_servers?id=not.is.null"),
        ] {
            let (status, body) = call(&lower, method, path, Some(json!({ "title": "x" }))).await;
            assert_eq!((status, &body["code"]), (403, &json!("42501")), "{path}");
        }
        let (status, _) = call(&lower, Method::POST, "/mcp/google-drive", Some(json!({}))).await;
        assert_eq!(status, 401);

        assert_eq!(call(&lower, Method::GET, "/auth/v1/user", None).await.0, 200);
        assert_eq!(call(&raised, Method::GET, "/api/account/devices", None).await.0, 200);
        assert_eq!(call(&lower, Method::POST, "/auth/v1/logout?scope=local", None).await.0, 204);
    }
}

#[tokio::test]
async fn open_pages_of_lower_sign_ins_end_with_the_first_code() {
    for database in databases() {
        let app = TestApp::on(database).await;
        let person = app.person().await;
        let other = another_device(&app, &person, "Browser/1").await;
        let page = Page::open(&other).await;
        with_factor(&app, &person).await;
        assert_eq!(page.rest().await, "data: {\"type\":\"devices\"}\n\n");
    }
}
