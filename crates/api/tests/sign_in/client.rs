//! The product's identity at the authorization server.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use testkit::{Database, TestApp, databases};

use super::Fixture;

#[tokio::test]
async fn a_client_is_entered_where_none_can_be_registered() {
    for database in databases() {
        let fixture = Fixture::with(database, &[("REGISTERS", "no")]).await;
        let (status, refused) = fixture.person.post(&fixture.path(), &json!({})).await;
        assert_eq!((status, &refused["error"]["code"]), (StatusCode::CONFLICT, &json!("client_needed")));
        assert!(refused["error"]["message"].as_str().unwrap().contains("enter the client ID"), "{refused}");
        assert!(refused["error"]["message"].as_str().unwrap().contains("/api/connections/callback"), "{refused}");

        let callback = fixture.app.state.site_url.0.join("/api/connections/callback").unwrap();
        let registered = json!({ "client_id": "by-hand", "client_secret": "s3cret", "redirect_uris": [callback],
            "client_name": "AI Chat MCP" });
        fixture.control(json!({ "client": registered })).await;
        let enter = async |client: Value| {
            fixture.person.request(Method::PUT, &fixture.path()).json(&client).send().await.unwrap().status()
        };
        assert_eq!(enter(json!({ "clientId": " " })).await, StatusCode::BAD_REQUEST);
        assert_eq!(enter(json!({ "clientId": "by-hand", "clientSecret": "wrong" })).await, StatusCode::NO_CONTENT);
        assert_eq!(fixture.sign_in().await, "failed");
        assert_eq!(enter(json!({ "clientId": "by-hand", "clientSecret": "s3cret" })).await, StatusCode::NO_CONTENT);
        assert_eq!(fixture.sign_in().await, "connected");
        assert_eq!(fixture.seen("clients").await, json!(["by-hand"]));

        // A secret is sent only to the server that it was entered for.
        let elsewhere = json!({ "url": format!("http://localhost:{}/mcp", fixture.peer.port) });
        let row = format!("/rest/v1/mcp_servers?id=eq.{}", fixture.connection);
        let changed = fixture.person.request(Method::PATCH, &row).json(&elsewhere).send().await.unwrap();
        assert_eq!(changed.status(), StatusCode::NO_CONTENT);
        let (status, refused) = fixture.person.post(&fixture.path(), &json!({})).await;
        assert!(!status.is_success(), "{refused}");
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn a_public_site_describes_itself_and_a_private_one_does_not() {
    let public = TestApp::builder().set("CHAT_SITE_URL", "https://chat.example.com").start().await;
    let document = public.http.get(format!("{}/oauth/client.json", public.url)).send().await.unwrap();
    assert_eq!(document.status(), StatusCode::OK);
    let document: Value = document.json().await.unwrap();
    assert_eq!(document["client_id"], "https://chat.example.com/oauth/client.json");
    assert_eq!(document["redirect_uris"], json!(["https://chat.example.com/api/connections/callback"]));
    public.stop().await;
    let private = TestApp::on(Database::of_environment()).await;
    let document = private.http.get(format!("{}/oauth/client.json", private.url)).send().await.unwrap();
    assert_eq!(document.status(), StatusCode::NOT_FOUND);
    private.stop().await;
}

#[tokio::test]
async fn our_own_servers_have_no_sign_in() {
    let app = TestApp::on(Database::of_environment()).await;
    let person = app.person().await;
    let row = person.connect("toolbox", &format!("{}/mcp/toolbox", app.url), json!([])).await;
    let path = format!("/api/connections/{}/sign-in", row["id"].as_str().unwrap());
    let (status, refused) = person.post(&path, &json!({})).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{refused}");
    assert!(
        refused["error"]["message"].as_str().unwrap().contains("does not name its authorization server"),
        "{refused}"
    );
    app.stop().await;
}
