//! Shared servers: what the operator offers, and users' connections to it.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use connections::shared_servers::ServerOffer;
use domain::{Clock, SystemClock, Timestamp, UserId};
use platform::config::HostName;
use reqwest::Method;
use serde_json::{Value, json};
use storage::audit_events::{AuditActor, AuditEventKind};
use testkit::{Person, StatefulMcp, TestApp, databases};

const SECRET: &str = "Bearer s3cret-of-the-operator";

/// Offers a server with the operator's key to users of a domain, or without one to all.
async fn offer(app: &TestApp, name: &str, url: &str, domain: Option<&str>) {
    let headers = BTreeMap::from([("Authorization".to_owned(), SECRET.to_owned())]);
    let domains: Vec<HostName> = domain.iter().map(|domain| domain.parse().unwrap()).collect();
    let offer =
        ServerOffer { name, url, description: "Sends letters.", headers: &headers, domains: &domains, groups: &[] };
    offer.store(&app.state.storage, &app.state.secrets, SystemClock.now(), &app.state.audit).await.unwrap();
}

async fn offered(person: &Person) -> Vec<Value> {
    person.get("/api/shared-servers").await["servers"].as_array().unwrap().clone()
}

async fn connect(person: &Person, id: &Value) -> (reqwest::StatusCode, Value) {
    person.post(&format!("/api/shared-servers/{}/connect", id.as_str().unwrap()), &Value::Null).await
}

fn tool() -> Value {
    json!({ "name": "send", "description": "Sends." })
}

#[tokio::test]
async fn one_request_connects_with_the_operators_headers_which_nobody_reads() {
    for database in databases() {
        let server = StatefulMcp::start([tool()]).await;
        let app = TestApp::on(database).await;
        let (me, other) = (app.person().await, app.person().await);
        offer(&app, "post", &server.url, None).await;
        let shared = offered(&me).await.remove(0);
        assert_eq!((&shared["name"], &shared["description"]), (&json!("post"), &json!("Sends letters.")));
        assert!(shared.get("connection").is_none());

        let (status, connection) = connect(&me, &shared["id"]).await;
        assert_eq!((status.as_u16(), &connection["status"]), (200, &json!("connected")), "{connection}");
        assert_eq!((&connection["shared"], &connection["tools"][0]["name"]), (&json!(true), &json!("send")));
        assert_eq!(server.header("authorization").as_deref(), Some(SECRET));
        let (_, again) = connect(&me, &shared["id"]).await;
        assert_eq!(again["id"], connection["id"], "the same connection");
        assert_eq!(offered(&me).await[0]["connection"], connection["id"]);
        assert!(offered(&other).await[0].get("connection").is_none(), "of nobody else");

        let path = format!("/api/connections/{}", connection["id"].as_str().unwrap());
        let details = me.get(&path).await;
        assert_eq!(details["headers"], json!([]));
        let rows = me.get("/rest/v1/mcp_servers?select=*").await;
        for shown in [&details, &rows, &connection] {
            assert!(!shown.to_string().contains("s3cret"), "{shown}");
        }
        let change = me.request(Method::PATCH, &path).json(&json!({ "headers": { "X-Own": "1" } }));
        assert_eq!(change.send().await.unwrap().status(), 400);
        app.stop().await;
    }
}

#[tokio::test]
async fn the_operators_headers_go_to_no_url_that_a_user_writes() {
    for database in databases() {
        let server = StatefulMcp::start([tool()]).await;
        let own = StatefulMcp::start([tool()]).await;
        let app = TestApp::on(database).await;
        let me = app.person().await;
        offer(&app, "post", &server.url, None).await;
        let (_, connection) = connect(&me, &offered(&me).await[0]["id"]).await;
        let id = connection["id"].as_str().unwrap();
        let path = format!("/rest/v1/mcp_servers?id=eq.{id}");
        let written = me.request(Method::PATCH, &path).json(&json!({ "url": own.url, "headers": { "X-Own": "1" } }));
        assert_eq!(written.send().await.unwrap().status(), 204);
        let (_, reconnected) = me.post(&format!("/api/connections/{id}/refresh"), &Value::Null).await;
        assert_eq!(reconnected["status"], "connected", "{reconnected}");
        assert_eq!(own.handshakes(), 0);
        assert_eq!(reconnected["url"], json!(server.url));
        assert_eq!((server.header("authorization").as_deref(), server.header("x-own")), (Some(SECRET), None));
        app.stop().await;
    }
}

#[tokio::test]
async fn a_connection_follows_a_new_offer_and_ends_with_it() {
    for database in databases() {
        let (first, second) = (StatefulMcp::start([tool()]).await, StatefulMcp::start([tool()]).await);
        let app = TestApp::on(database).await;
        let me = app.person().await;
        me.connect_to("post", &first.url).await;
        offer(&app, "post", &first.url, None).await;
        let (_, connection) = connect(&me, &offered(&me).await[0]["id"]).await;
        assert_eq!(connection["name"], "post 2", "the name was taken");

        offer(&app, "post", &second.url, None).await;
        let id = connection["id"].as_str().unwrap();
        let row = me.get(&format!("/rest/v1/mcp_servers?id=eq.{id}&select=url")).await;
        assert_eq!(row[0]["url"], json!(second.url));
        let (_, moved) = me.post(&format!("/api/connections/{id}/refresh"), &Value::Null).await;
        assert_eq!((&moved["status"], second.handshakes()), (&json!("connected"), 1), "{moved}");

        offer(&app, "post", &second.url, Some("example.org")).await;
        assert!(offered(&me).await.is_empty(), "of another domain");
        let (_, refused) = me.post(&format!("/api/connections/{id}/refresh"), &Value::Null).await;
        assert_eq!((&refused["status"], second.handshakes()), (&json!("error"), 1), "{refused}");
        assert!(refused["reason"].as_str().unwrap().contains("no longer offered"), "{refused}");

        let event = |kind| app.state.audit.event(None, AuditActor::Admin, kind);
        let (events, of_connections) =
            (event(AuditEventKind::SharedServerWithdrawn), event(AuditEventKind::ConnectionDeleted));
        for is_there in [true, false] {
            let withdrawn = app.state.storage.shared_servers().delete("post", &events, &of_connections).await;
            assert_eq!(withdrawn.unwrap(), is_there);
        }
        let audit = app.state.storage.audit_events().list(None, Timestamp(0), None, 100).await.unwrap();
        let mine: UserId = me.id.parse().unwrap();
        let told = audit.iter().skip(2).map(|event| {
            assert!(event.user.is_none() || event.user == Some(mine));
            format!("{} {} {}", event.actor, event.kind, event.user.is_some())
        });
        let expected = [
            "user connection_created true",
            "admin shared_server_offered false",
            "user connection_created true",
            "admin shared_server_offered false",
            "admin shared_server_offered false",
            "admin shared_server_withdrawn false",
            "admin connection_deleted true",
        ];
        assert_eq!(told.collect::<Vec<_>>(), expected);
        let left = me.get("/api/connections").await;
        assert_eq!(left["connections"].as_array().unwrap().len(), 1, "{left}");
        app.stop().await;
    }
}

#[tokio::test]
async fn an_offer_to_a_domain_is_for_proven_addresses_of_it() {
    for database in databases() {
        let server = StatefulMcp::start([tool()]).await;
        let app = TestApp::on(database).await;
        let me = app.person().await;
        let users = app.state.storage.users();
        let mut account = users.get(me.id.parse().unwrap()).await.unwrap().unwrap();
        // Addresses of users in tests end with example.com. They are confirmed without a proof.
        assert!(account.email_confirmed_at.is_some());
        offer(&app, "post", &server.url, Some("example.com")).await;
        assert!(offered(&me).await.is_empty());
        let hidden = app.state.storage.shared_servers().list().await.unwrap().remove(0).id;
        assert_eq!(connect(&me, &json!(hidden)).await.0, 404);

        account.proven_email.clone_from(&account.email);
        assert!(users.update(&account, account.updated_at, None).await.unwrap());
        for (domain, is_offered) in
            [("example.com", true), ("ample.com", false), ("com", false), ("mail.example.com", false)]
        {
            offer(&app, "post", &server.url, Some(domain)).await;
            assert_eq!(offered(&me).await.len(), usize::from(is_offered), "{domain}");
        }
        let (status, _) = connect(&me, &json!(hidden)).await;
        assert_eq!(status, 404);
        app.stop().await;
    }
}

#[tokio::test]
async fn invalid_offers_are_refused() {
    let app = TestApp::start().await;
    let none = BTreeMap::new();
    let broken = BTreeMap::from([("Bad name".to_owned(), "1".to_owned())]);
    for (name, url, headers, problem) in [
        ("", "https://example.com/mcp", &none, "name"),
        ("post", "example.com", &none, "not valid"),
        ("post", "file:///etc/passwd", &none, "must begin with"),
        ("post", "https://me:key@example.com/", &none, "use a header"),
        ("post", "https://example.com/?key=***", &none, "***"),
        ("post", "https://example.com/mcp", &broken, "header"),
    ] {
        let offer = ServerOffer { name, url, description: "", headers, domains: &[], groups: &[] };
        let refused =
            offer.store(&app.state.storage, &app.state.secrets, SystemClock.now(), &app.state.audit).await.unwrap_err();
        assert!(refused.to_string().contains(problem), "{refused}");
    }
    assert!(app.state.storage.shared_servers().list().await.unwrap().is_empty());
    app.stop().await;
}
