//! The audit log: what is recorded, by whom, and how long it is kept.

use domain::{Timestamp, UserId};
use reqwest::Method;
use serde_json::json;
use storage::audit_events::AuditEvent;
use testkit::{MockClock, TestApp, databases};

use super::admin::{KEY, admin};
use super::caller::{PASSWORD, log_out, post, put_user, refresh, request, send, sign_in};

/// Returns all events, oldest first.
async fn events(app: &TestApp) -> Vec<AuditEvent> {
    app.state.storage.audit_events().list(None, Timestamp(0), None, 1000).await.unwrap()
}

/// Returns actors and kinds of all events.
async fn summary(app: &TestApp) -> Vec<String> {
    events(app).await.iter().map(|event| format!("{} {}", event.actor, event.kind)).collect()
}

#[tokio::test]
async fn records_what_happens_to_an_account() {
    for database in databases() {
        let clock = MockClock::new();
        let app = TestApp::builder().database(database).clock(&clock).set("CHAT_SERVICE_ROLE_KEY", KEY).start().await;
        let person = app.person().await;
        let id: UserId = person.id.parse().unwrap();
        let attempt = request(&app, Method::POST, "/token?grant_type=password").header("user-agent", "Browser\u{9}1");
        let wrong = json!({ "email": person.email, "password": "wrong" });
        assert_eq!(send(attempt.json(&wrong)).await.status, 400);
        assert_eq!(sign_in(&app, "nobody@example.com", PASSWORD).await.status, 400);
        let second = sign_in(&app, &person.email, PASSWORD).await.text("/access_token");
        assert_eq!(put_user(&app, &second, &json!({ "password": "another horse" })).await.status, 200);
        assert_eq!(put_user(&app, &second, &json!({ "data": { "name": "Ann" } })).await.status, 200, "no event");
        assert_eq!(log_out(&app, &second, "?scope=global").await.status, 204);
        let path = format!("/admin/users/{id}");
        for duration in ["24h", "none"] {
            assert_eq!(admin(&app, Method::PUT, &path, &json!({ "ban_duration": duration })).await.status, 200);
        }
        let third = sign_in(&app, &person.email, "another horse").await;
        clock.advance_seconds(60);
        for _ in 0..2 {
            let next = refresh(&app, &third.text("/refresh_token")).await;
            super::caller::get_user(&app, &next.text("/access_token")).await;
            clock.advance_seconds(60);
            if refresh(&app, &third.text("/refresh_token")).await.status == 400 {
                break;
            }
        }
        let expected = [
            "user account_created",
            "user sign_in",
            "user sign_in_failed",
            "user sign_in_failed",
            "user sign_in",
            "user password_changed",
            "user sign_out",
            "admin account_locked",
            "admin account_unlocked",
            "user sign_in",
            "system session_revoked",
        ];
        assert_eq!(summary(&app).await, expected);
        let all = events(&app).await;
        assert_eq!((all[2].user, all[3].user), (Some(id), None));
        assert_eq!(all[2].client_address.as_deref(), Some("127.0.0.1"));
        assert_eq!(all[2].user_agent.as_deref(), Some("Browser1"));
        let own = app.state.storage.audit_events().list_of_user(id, None, 3).await.unwrap();
        assert_eq!(own.iter().map(|event| event.id).collect::<Vec<_>>(), [all[10].id, all[9].id, all[8].id]);
        let earlier = app.state.storage.audit_events().list_of_user(id, Some(own[2].id), 1).await.unwrap();
        assert_eq!(earlier[0].id, all[7].id);
        let seen = app.person().await.get("/api/account/events").await;
        assert_eq!(seen["events"].as_array().unwrap().len(), 2, "only the caller's own: {seen}");
        assert_eq!((&seen["events"][0]["kind"], &seen["events"][0]["actor"]), (&json!("sign_in"), &json!("user")));
        assert_eq!(seen["events"][0]["clientAddress"], "127.0.0.1");
        app.stop().await;
    }
}

#[tokio::test]
async fn events_outlive_their_account_without_its_address() {
    for database in databases() {
        let app = TestApp::builder().database(database).set("CHAT_SERVICE_ROLE_KEY", KEY).start().await;
        let (person, other) = (app.person().await, app.person().await);
        sign_in(&app, &person.email, PASSWORD).await;
        let path = format!("/admin/users/{}", person.id);
        assert_eq!(admin(&app, Method::DELETE, &path, &json!({})).await.status, 200);
        sign_in(&app, &other.email, PASSWORD).await;
        let all = events(&app).await;
        assert_eq!(all.last().unwrap().client_address.as_deref(), Some("127.0.0.1"));
        let own: Vec<_> = all.iter().filter(|event| event.user == Some(person.id.parse().unwrap())).collect();
        assert_eq!(
            own.iter().map(|event| event.kind.as_str()).collect::<Vec<_>>(),
            ["account_created", "sign_in", "sign_in", "account_deleted"]
        );
        assert!(own.iter().all(|event| event.client_address.is_none() && event.user_agent.is_none()));
        assert_eq!(own[3].actor, "admin");
        app.stop().await;
    }
}

#[tokio::test]
async fn events_are_kept_for_the_time_in_the_settings() {
    for database in databases() {
        let clock = MockClock::new();
        let app = TestApp::builder().database(database).clock(&clock).set("CHAT_AUDIT_DAYS", "2").start().await;
        app.person().await;
        clock.advance_seconds(2 * 24 * 3600 - 1);
        assert_eq!(app.state.accounts.delete_old_audit_events().await.unwrap(), 0);
        clock.advance_seconds(1);
        assert_eq!(app.state.accounts.delete_old_audit_events().await.unwrap(), 2);
        app.stop().await;
    }
}

#[tokio::test]
async fn nothing_is_recorded_without_an_audit_log() {
    let app = TestApp::builder().set("CHAT_AUDIT_DAYS", "0").start().await;
    let person = app.person().await;
    post(&app, "/token?grant_type=password", &json!({ "email": person.email, "password": "wrong" })).await;
    assert_eq!(events(&app).await, []);
}

#[tokio::test]
async fn records_keys_and_ended_devices() {
    for database in databases() {
        let app = TestApp::on(database).await;
        let person = app.person().await;
        let key = person.post("/api/keys", &json!({ "name": "a program", "scopes": ["chat"] })).await;
        assert_eq!(key.0, 201, "{}", key.1);
        let path = format!("/api/keys/{}", key.1["key"]["id"].as_str().unwrap());
        for status in [204, 404] {
            assert_eq!(person.request(Method::DELETE, &path).send().await.unwrap().status(), status);
        }
        let answer = person.request(Method::DELETE, "/api/keys").send().await.unwrap();
        assert_eq!(answer.status(), 200, "there is none");
        let devices = person.get("/api/account/devices").await;
        let path = format!("/api/account/devices/{}", devices["devices"][0]["id"].as_str().unwrap());
        assert_eq!(person.request(Method::DELETE, &path).send().await.unwrap().status(), 204);
        let expected =
            ["user account_created", "user sign_in", "user api_key_created", "user api_key_deleted", "user sign_out"];
        assert_eq!(summary(&app).await, expected);
        let all = events(&app).await;
        assert!(all[..2].iter().all(|event| event.client_address.as_deref() == Some("127.0.0.1")), "{all:?}");
        app.stop().await;
    }
}

#[tokio::test]
async fn records_shared_chats_and_connections_with_what_they_change() {
    for database in databases() {
        let app = TestApp::on(database).await;
        let person = app.person().await;
        let chat = person.new_chat().await;
        person.insert("ai_chat_messages", &json!({ "session_id": chat, "role": "user", "content": "Hello" })).await;
        let mut shares = Vec::new();
        for _ in 0..3 {
            let (status, share) = person.post(&format!("/api/sessions/{chat}/shares"), &json!({})).await;
            assert_eq!(status, 200, "{share}");
            shares.push(format!("/api/shares/{}", share["id"].as_str().unwrap()));
        }
        for (path, status) in [(&shares[0], 204), (&shares[0], 404), (&"/api/shares".to_owned(), 200)] {
            assert_eq!(person.request(Method::DELETE, path).send().await.unwrap().status(), status, "{path}");
        }
        let none = person.request(Method::DELETE, "/api/shares").send().await.unwrap();
        assert_eq!(none.status(), 200, "there is none");

        let row = |name: &str| json!({ "name": name, "url": "https://example.com/mcp" });
        let rows = json!([row("one"), row("two")]);
        let write = |rows: serde_json::Value, preferences: &'static str| {
            let request = person.request(Method::POST, "/rest/v1/mcp_servers?on_conflict=user_id,name");
            request.header("prefer", preferences).json(&rows).send()
        };
        let merge = "resolution=merge-duplicates";
        assert_eq!(write(rows.clone(), merge).await.unwrap().status(), 201);
        assert_eq!(write(rows.clone(), merge).await.unwrap().status(), 200, "no new row, no event");
        let rejected = json!([row("three"), { "name": "four", "url": "https://example.com/?a=***" }]);
        assert!(write(rejected, merge).await.unwrap().status().is_client_error(), "no row, no event");
        for _ in 0..2 {
            let path = "/rest/v1/mcp_servers?url=like.*example.com*";
            assert_eq!(person.request(Method::DELETE, path).send().await.unwrap().status(), 204);
        }
        let expected = [
            "user account_created",
            "user sign_in",
            "user share_created",
            "user share_created",
            "user share_created",
            "user share_deleted",
            "user share_deleted",
            "user connection_created",
            "user connection_created",
            "user connection_deleted",
            "user connection_deleted",
        ];
        assert_eq!(summary(&app).await, expected);
        assert!(events(&app).await.iter().all(|event| event.user == Some(person.id.parse().unwrap())));
        app.stop().await;
    }
}

#[tokio::test]
async fn records_changed_connections() {
    for database in databases() {
        let app = TestApp::on(database).await;
        let person = app.person().await;
        let row = |name: &str, query: &str| json!({ "name": name, "url": format!("https://example.com/mcp{query}") });
        person.insert("mcp_servers", &row("one", "?key=1")).await;
        person.insert("mcp_servers", &row("two", "")).await;
        let stored = person.get("/rest/v1/mcp_servers?select=id&name=eq.two").await;
        let connection = format!("/api/connections/{}", stored[0]["id"].as_str().unwrap());
        let changed = async || {
            let kinds = summary(&app).await.into_iter();
            kinds.filter(|event| event == "user connection_changed").count()
        };
        let all = "/rest/v1/mcp_servers?id=not.is.null";
        let two = "/rest/v1/mcp_servers?name=eq.two";
        let merge = "/rest/v1/mcp_servers?on_conflict=user_id,name";
        let mut expected = 0;
        for (method, path, body, number) in [
            (Method::PATCH, all, json!({ "status": "connected", "tools": [] }), 0),
            (Method::PATCH, all, json!({ "headers": null }), 0),
            (Method::PATCH, all, json!({ "headers": { "X-Key": "secret" } }), 2),
            (Method::PATCH, all, json!({ "headers": null }), 2),
            (Method::PATCH, two, json!({ "url": "https://example.com/mcp" }), 0),
            (Method::PATCH, two, json!({ "url": "https://example.com/other" }), 1),
            (Method::PATCH, all, json!({ "url": "https://example.com/other?key=2" }), 2),
            (Method::PATCH, two, json!({ "url": "https://example.com/other" }), 1),
            (Method::PATCH, two, json!({ "name": "three", "url": "https://example.com/?key=***" }), 0),
            (Method::POST, merge, row("two", ""), 1),
            (Method::POST, merge, row("two", ""), 0),
            (Method::POST, merge, json!({ "name": "two", "url": "https://example.com/mcp", "tools": [] }), 0),
            (Method::POST, merge, row("two", "?key=3"), 1),
            (Method::PATCH, &connection, json!({ "tools": { "send": false } }), 0),
            (Method::PATCH, &connection, json!({ "name": "two" }), 0),
            (Method::PATCH, &connection, json!({ "headers": { "X-Key": null } }), 0),
            (Method::PATCH, &connection, json!({ "headers": { "X-Key": "secret" } }), 1),
            (Method::PATCH, &connection, json!({ "headers": { "X-Key": null } }), 1),
            (Method::PATCH, &connection, json!({ "name": "four" }), 1),
            (Method::PUT, &format!("{connection}/sign-in"), json!({ "clientId": "client" }), 1),
        ] {
            let request = person.request(method.clone(), path).header("prefer", "resolution=merge-duplicates");
            let status = request.json(&body).send().await.unwrap().status();
            assert!(status.is_success() || body["name"] == "three", "{method} {path} {body}: {status}");
            expected += number;
            assert_eq!(changed().await, expected, "{method} {path} {body}");
        }
        assert!(events(&app).await.iter().all(|event| event.user == Some(person.id.parse().unwrap())));
        app.stop().await;
    }
}

#[tokio::test]
async fn records_every_rejected_sign_in() {
    for database in databases() {
        let app = TestApp::builder().database(database).set("CHAT_SERVICE_ROLE_KEY", KEY).start().await;
        let person = app.person().await;
        let link = json!({ "type": "magiclink", "email": person.email });
        let link = admin(&app, Method::POST, "/admin/generate_link", &link).await;
        let code = link.text("/email_otp");
        let wrong = if code == "000000" { "000001" } else { "000000" };
        for email in [&person.email, "nobody@example.com"] {
            let body = json!({ "type": "email", "email": email, "token": wrong });
            assert_eq!(post(&app, "/verify", &body).await.status, 403);
        }
        let path = format!("/admin/users/{}", person.id);
        assert_eq!(admin(&app, Method::PUT, &path, &json!({ "ban_duration": "24h" })).await.status, 200);
        assert_eq!(sign_in(&app, &person.email, PASSWORD).await.status, 400, "the right password of a locked account");
        let right = json!({ "type": "email", "email": person.email, "token": code });
        assert_eq!(post(&app, "/verify", &right).await.status, 403, "the right code of a locked account");
        let expected = [
            "user account_created",
            "user sign_in",
            "admin sign_in_link_created",
            "user sign_in_failed",
            "user sign_in_failed",
            "admin account_locked",
            "user sign_in_failed",
            "user sign_in_failed",
        ];
        assert_eq!(summary(&app).await, expected);
        let all = events(&app).await;
        let known = Some(person.id.parse().unwrap());
        assert_eq!([3, 4, 6, 7].map(|index| all[index].user), [known, None, known, known]);
        assert!([3, 4, 6, 7].iter().all(|index| all[*index].client_address.as_deref() == Some("127.0.0.1")));
        app.stop().await;
    }
}

#[tokio::test]
async fn records_links_and_addresses() {
    for database in databases() {
        let app = TestApp::builder().database(database).set("CHAT_SERVICE_ROLE_KEY", KEY).start().await;
        let new = json!({ "type": "magiclink", "email": "ann@example.com" });
        assert_eq!(admin(&app, Method::POST, "/admin/generate_link", &new).await.status, 200);
        let recovery = json!({ "type": "signup", "email": "ann@example.com", "password": PASSWORD });
        assert_eq!(admin(&app, Method::POST, "/admin/generate_link", &recovery).await.status, 200);
        let person = app.person().await;
        let changed = put_user(&app, &person.token, &json!({ "email": "bob@example.com" })).await;
        assert_eq!(changed.status, 200, "{}", changed.body);
        let path = format!("/admin/users/{}", person.id);
        assert_eq!(admin(&app, Method::PUT, &path, &json!({ "email": "bobby@example.com" })).await.status, 200);
        let expected = [
            "admin account_created",
            "admin sign_in_link_created",
            "user account_created",
            "user sign_in",
            "user email_changed",
            "admin email_changed",
        ];
        assert_eq!(summary(&app).await, expected);
        app.stop().await;
    }
}
