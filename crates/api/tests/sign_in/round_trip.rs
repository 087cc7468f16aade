//! The whole flow, from the first 401 to the sign-out.

use domain::Timestamp;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use testkit::databases;

use super::{Begun, Fixture, call, connect, until};

#[tokio::test]
async fn a_person_signs_in_uses_the_tools_and_signs_out() {
    for database in databases() {
        let fixture = Fixture::new(database).await;
        // The specification's envelope, with one additional field.
        let url = format!("http://127.0.0.1:{}/mcp", fixture.peer.port);
        let (status, probed) = fixture.person.post("/functions/v1/mcp-proxy", &json!({ "url": url })).await;
        assert_eq!((status, &probed["success"], &probed["needsSignIn"]), (StatusCode::OK, &json!(false), &json!(true)));
        assert_eq!(probed["error"], "The server wants you to sign in.");
        // A connection with an own authorization header has no sign-in.
        let keyed = json!({ "url": url, "headers": { "Authorization": "Bearer wrong" } });
        let (_, probed) = fixture.person.post("/functions/v1/mcp-proxy", &keyed).await;
        assert_eq!(probed["needsSignIn"], Value::Null);

        let waiting = fixture.until("needs-sign-in").await;
        assert_eq!((&waiting["tools"], &waiting["signedIn"]), (&json!([]), &json!(false)));
        assert!(waiting["reason"].as_str().unwrap().contains("wants you to sign in"));
        let (status, refused) = fixture.call("read_notes").await;
        assert!(!status.is_success(), "{refused}");

        let mut events = fixture.person.request(Method::GET, "/api/events").send().await.unwrap();
        // Reconnecting does not disturb a sign-in in progress.
        fixture.clock.advance_seconds(6);
        fixture.person.get("/api/connections").await;
        let mut told = String::new();
        while !told.contains(r#""status":"#) {
            told.push_str(&String::from_utf8_lossy(&events.chunk().await.unwrap().unwrap()));
        }
        assert!(told.contains("needs-sign-in") && !told.contains("connecting"), "{told}");
        assert_eq!(fixture.sign_in().await, "connected");
        let connected = fixture.until("connected").await;
        assert_eq!(connected["signedIn"], true);
        let names: Vec<&str> =
            connected["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["read_notes", "erase_notes"]);
        assert!(fixture.read().await.starts_with("The notes of "));
        // Open pages were notified, and the stored connection has its tools.
        let mut told = String::new();
        while !told.contains(r#""status":"connected""#) {
            told.push_str(&String::from_utf8_lossy(&events.chunk().await.unwrap().unwrap()));
        }
        let rows = fixture.person.get("/rest/v1/mcp_servers?select=tools").await;
        assert_eq!(rows[0]["tools"][0]["serverName"], "notes", "{rows}");

        let ended = fixture.person.request(Method::DELETE, &fixture.path()).send().await.unwrap();
        assert_eq!(ended.status(), StatusCode::NO_CONTENT);
        assert_eq!(fixture.seen("revoked").await, 1);
        assert_eq!(fixture.until("needs-sign-in").await["signedIn"], false);
        let again = fixture.person.request(Method::DELETE, &fixture.path()).send().await.unwrap();
        assert_eq!(again.status(), StatusCode::NO_CONTENT, "no event, because nothing ends");
        assert_eq!(fixture.sign_in().await, "connected");
        let events = fixture.app.state.storage.audit_events().list(None, Timestamp(0), None, 100).await.unwrap();
        let kinds = events.iter().map(|event| event.kind.as_str());
        assert_eq!(
            kinds.skip_while(|kind| *kind != "connection_created").skip(1).collect::<Vec<_>>(),
            ["server_signed_in", "server_signed_out", "server_signed_in"]
        );
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn everybody_signs_in_for_themselves() {
    for database in databases() {
        let fixture = Fixture::signed_in(database).await;
        let mine = fixture.read().await;
        let other = fixture.app.person().await;
        let theirs = connect(&other, &fixture.peer).await;
        until(&other, &theirs, "needs-sign-in").await;
        assert!(!call(&other, "read_notes").await.0.is_success());

        let begun = Begun::by(&other, &theirs).await;
        assert_eq!(begun.decide(&fixture, "yes").await.come_back(&fixture, Some(&begun.cookie)).await, "connected");
        until(&other, &theirs, "connected").await;
        let (status, answer) = call(&other, "read_notes").await;
        assert_eq!(status, StatusCode::OK, "{answer}");
        assert_ne!(answer["result"]["content"][0]["text"], mine.as_str());
        assert_eq!(fixture.read().await, mine);

        // No user can begin, end or change the sign-in of another user.
        for method in [Method::POST, Method::PUT, Method::DELETE] {
            let request = other.request(method, &fixture.path()).json(&json!({ "clientId": "x" }));
            assert_eq!(request.send().await.unwrap().status(), StatusCode::NOT_FOUND);
        }
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn a_right_that_was_not_granted_is_asked_for_when_it_is_needed() {
    for database in databases() {
        let fixture = Fixture::signed_in(database).await;
        fixture.until("connected").await;
        let (status, refused) = fixture.call("erase_notes").await;
        assert_eq!(status, StatusCode::BAD_GATEWAY, "{refused}");
        assert!(refused["error"]["message"].as_str().unwrap().contains("allow it more"), "{refused}");
        fixture.until("needs-sign-in").await;
        // What was granted before still works.
        fixture.read().await;

        let begun = Begun::by(&fixture.person, &fixture.connection).await;
        assert!(begun.url.contains("scope=erase"), "{}", begun.url);
        assert_eq!(begun.decide(&fixture, "yes").await.come_back(&fixture, Some(&begun.cookie)).await, "connected");
        fixture.until("connected").await;
        let (status, answer) = fixture.call("erase_notes").await;
        assert_eq!((status, &answer["result"]["content"][0]["text"]), (StatusCode::OK, &json!("Erased.")));
        fixture.app.stop().await;
    }
}
