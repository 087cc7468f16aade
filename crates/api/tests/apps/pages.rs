//! The page of a tool, and its sandbox frame.

use serde_json::{Value, json};
use testkit::{Step, databases};

use super::{Fixture, PAGE, base64, page, tools};

#[tokio::test]
async fn the_client_says_that_it_shows_apps() {
    let fixture = Fixture::new(databases()[0], []).await;
    let said = fixture.server.capabilities();
    assert_eq!(
        said["extensions"]["io.modelcontextprotocol/ui"]["mimeTypes"],
        json!(["text/html;profile=mcp-app"]),
        "{said}"
    );
}

#[tokio::test]
async fn a_page_is_read_for_the_owner_of_the_connection_alone() {
    for database in databases() {
        let fixture = Fixture::new(database, []).await;
        for tool in ["board", "old"] {
            let (status, opened) = fixture.open(tool).await;
            assert_eq!((status, &opened["html"]), (200, &json!(PAGE)), "{opened}");
            assert_eq!((&opened["tool"]["name"], &opened["csp"]), (&json!(tool), &json!({})));
            assert_eq!(opened["permissions"], json!({}));
        }
        let stranger = fixture.app.person().await;
        stranger.connect_to("others", &fixture.server.url).await;
        let body = json!({ "serverName": "boards", "tool": "board" });
        assert_eq!(stranger.post("/api/apps/open", &body).await.0, 404);
        let body = json!({ "serverName": "boards", "uri": "ui://boards/board" });
        assert_eq!(stranger.post("/api/apps/read", &body).await.0, 404);
        let body = json!({ "serverName": "boards", "name": "refresh" });
        assert_eq!(stranger.post("/api/apps/call", &body).await.0, 404);
        assert!(fixture.server.calls().is_empty());
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn what_is_no_page_is_not_shown_and_says_why() {
    let fixture = Fixture::new(databases()[0], []).await;
    let code = |(status, answer): (u16, Value)| (status, answer["error"]["code"].as_str().unwrap_or("").to_owned());
    assert_eq!(code(fixture.open("plain").await), (422, "no_app".into()));
    assert_eq!(code(fixture.open("gone").await), (422, "unknown_tool".into()));
    for odd in [
        json!({ "text": PAGE, "mimeType": "text/html" }),
        json!({ "text": PAGE, "mimeType": null }),
        json!({ "blob": "%%%" }),
        json!({ "blob": "/w==" }),
        json!({}),
        json!({ "text": "x".repeat(8 * 1024 * 1024 + 1) }),
    ] {
        fixture.server.has_resource(page(odd));
        assert_eq!(code(fixture.open("board").await), (502, "app_failed".into()));
    }
    fixture.server.has_resource(page(json!({ "blob": base64(PAGE) })));
    assert_eq!(fixture.open("board").await.1["html"], PAGE);
    fixture.server.change([json!({ "name": "board", "_meta": { "ui": { "resourceUri": "ui://boards/gone" } } })]);
    let refreshed = fixture.person.post(&format!("/api/connections/{}/refresh", fixture.connection), &json!({})).await;
    assert_eq!(refreshed.0, 200);
    assert_eq!(code(fixture.open("board").await), (422, "no_resource".into()));
}

#[tokio::test]
async fn the_sandbox_has_the_rules_that_its_address_carries() {
    let fixture = Fixture::new(databases()[0], []).await;
    let about = json!({
        "csp": {
            "connectDomains": ["https://api.example", "*", "'self'", fixture.app.url, "http://10.0.0.1", "https://a; sandbox"],
            "resourceDomains": ["https://*.cdn.example"],
        },
        "permissions": { "camera": {} },
    });
    fixture.server.has_resource(page(json!({ "text": PAGE, "_meta": { "ui": about } })));
    let (_, opened) = fixture.open("board").await;
    assert_eq!(opened["permissions"], json!({ "camera": {} }));
    assert_eq!(opened["csp"]["connectDomains"], json!(["https://api.example"]), "what is no place is left out");
    let address = opened["frame"].as_str().unwrap();
    let sandbox = fixture.app.http.get(format!("{}{address}", fixture.app.url)).send().await.unwrap();
    let header = |name: &str| sandbox.headers()[name].to_str().unwrap().to_owned();
    assert_eq!(sandbox.status(), 200);
    let policy = header("content-security-policy");
    for rule in [
        "default-src 'none'",
        "script-src 'unsafe-inline' https://*.cdn.example",
        "connect-src https://api.example",
        "frame-src 'none'",
        "object-src 'none'",
        "webrtc 'block'",
        "frame-ancestors 'self'",
        "sandbox allow-scripts allow-forms",
    ] {
        assert!(policy.split("; ").any(|one| one == rule), "{rule} in {policy}");
    }
    assert!(!policy.contains("allow-same-origin"));
    assert!(header("permissions-policy").starts_with("camera=*, microphone=()"));
    assert!(!sandbox.text().await.unwrap().contains("Board"), "the page itself is not in it");
    // A changed character makes the sealed address invalid.
    for changed in [&address[..address.len() - 2], &format!("{address}A"), "/sandbox/", "/sandbox/%00"] {
        let answer = fixture.app.http.get(format!("{}{changed}", fixture.app.url)).send().await.unwrap();
        assert!(!answer.headers()["content-security-policy"].to_str().unwrap().contains("api.example"), "{changed}");
    }
}

#[tokio::test]
async fn the_frame_of_previews_runs_scripts_and_reaches_nothing() {
    let fixture = Fixture::new(databases()[0], []).await;
    let frame = fixture.app.http.get(format!("{}/sandbox/preview", fixture.app.url)).send().await.unwrap();
    assert_eq!(frame.status(), 200);
    let policy = frame.headers()["content-security-policy"].to_str().unwrap();
    assert_eq!(
        policy,
        "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; \
         font-src data:; media-src data: blob:; connect-src 'none'; frame-src 'none'; base-uri 'none'; \
         object-src 'none'; webrtc 'block'; form-action 'none'; frame-ancestors 'self'; sandbox allow-scripts"
    );
    assert!(frame.headers()["permissions-policy"].to_str().unwrap().starts_with("camera=(), microphone=()"));
}

#[tokio::test]
async fn an_app_reads_resources_of_its_own_server() {
    let fixture = Fixture::new(databases()[0], []).await;
    fixture.server.has_resource(json!({ "uri": "board://rows", "text": "1, 2" }));
    let read = async |uri: &str| {
        let body = json!({ "serverName": "boards", "uri": uri });
        fixture.person.post("/api/apps/read", &body).await
    };
    let (status, answer) = read("board://rows").await;
    assert_eq!((status.as_u16(), &answer["contents"][0]["text"]), (200, &json!("1, 2")));
    assert_eq!(read("board://gone").await.0, 422);
    assert_eq!(read(&"x".repeat(3_000)).await.0, 400);
    fixture.server.has_resource(json!({ "uri": "board://much", "text": "x".repeat(8 * 1024 * 1024 + 1) }));
    assert_eq!(read("board://much").await.0, 502);
}

#[tokio::test]
async fn a_call_in_a_chat_names_its_app_and_tools_for_apps_are_hidden_from_the_model() {
    for database in databases() {
        let steps = [Step::Calls(vec![("board".into(), json!({}))]), Step::Text("There.".into())];
        let fixture = Fixture::new(database, steps).await;
        fixture.person.allow(&fixture.connection, "board", "always").await;
        let chat = fixture.person.new_chat().await;
        let all: Vec<Value> =
            tools().iter().map(|tool| json!({ "name": tool["name"], "serverName": "boards" })).collect();
        let events = fixture.person.ask_for_events(&chat, "Show it", json!(all)).await;
        let available = events.iter().find(|event| event.kind() == "tool-input-available").unwrap();
        assert_eq!(available.data["toolMetadata"], json!({ "serverName": "boards", "app": "ui://boards/board" }));
        let answer = fixture.person.messages(&chat).await.pop().unwrap();
        assert_eq!(answer["tool_calls"][0]["app"], "ui://boards/board");
        let told = fixture.model.requests()[0]["tools"].to_string();
        assert!(told.contains("secret") && told.contains("plain") && !told.contains("refresh"), "{told}");
        fixture.app.stop().await;
    }
}
