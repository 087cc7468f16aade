//! Permanent permissions and their scope.

use reqwest::Method;
use serde_json::{Value, json};
use testkit::{ScriptedMcp, Step, databases, run_sql};

use crate::tool_permissions::{Fixture, call_of_send, choice, send_tool};

async fn run_by_hand(fixture: &Fixture) -> (u16, Value) {
    let body = json!({ "serverName": "post", "name": "send", "arguments": { "to": "Ada" } });
    let (status, answer) = fixture.person.post("/api/tools/run", &body).await;
    (status.as_u16(), answer)
}

#[tokio::test]
async fn a_tool_that_is_never_allowed_runs_on_no_path() {
    for database in databases() {
        let fixture = Fixture::new(database, [call_of_send(), Step::Text("I may not.".into())]).await;
        let (status, rule) = fixture.person.allow(&fixture.connection, "send", "never").await;
        assert_eq!((status.as_u16(), &rule["permission"]), (200, &json!("never")));
        let (_, answer) = fixture.person.ask(&fixture.chat, "Send it", choice()).await;
        let call = &answer["toolCalls"][0];
        assert_eq!((&answer["status"], &call["outcome"]), (&json!("done"), &json!("denied")), "{answer}");
        let (status, refused) = run_by_hand(&fixture).await;
        assert_eq!((status, &refused["error"]["code"]), (422, &json!("tool_not_allowed")));
        assert!(fixture.server.calls().is_empty());
        assert_eq!(fixture.audit(2).await, vec![("nobody".to_owned(), "denied".to_owned()); 2]);
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn running_a_tool_by_hand_is_a_consent_of_its_own() {
    let fixture = Fixture::new(databases()[0], [call_of_send()]).await;
    assert_eq!(run_by_hand(&fixture).await.0, 200);
    assert_eq!(fixture.audit(1).await, [("form".to_owned(), "done".to_owned())]);
    fixture.ask().await;
    assert_eq!(fixture.server.calls().len(), 1, "it allows nothing to the assistant");
}

#[tokio::test]
async fn own_tools_that_only_read_run_unasked_and_the_claim_of_a_foreign_one_counts_for_nothing() {
    let fixture = Fixture::new(databases()[0], []).await;
    fixture.person.connect_to("drive", &format!("{}/mcp/google-drive", fixture.app.url)).await;
    fixture.person.connect_to("tools", &format!("{}/mcp/toolbox", fixture.app.url)).await;
    let all = fixture.person.get("/api/tools/permissions").await;
    let of = |tool: &str| {
        let all = all["permissions"].as_array().unwrap();
        all.iter().find(|entry| entry["tool"] == tool).unwrap()["permission"].clone()
    };
    // The third-party tool declares itself read-only.
    assert_eq!(of("send"), "ask");
    assert_eq!((of("calculate"), of("google_drive_read_file")), (json!("always"), json!("always")));
    assert_eq!(of("google_drive_create_file"), "ask");
    fixture.model.push(Step::Calls(vec![("calculate".into(), json!({ "expression": "6*7" }))]));
    fixture.model.push(Step::Text("42".into()));
    let tools = json!([{ "name": "calculate", "serverName": "tools" }]);
    let (_, answer) = fixture.person.ask(&fixture.chat, "What is it?", tools).await;
    assert_eq!((&answer["status"], &answer["toolCalls"][0]["outcome"]), (&json!("done"), &json!("done")));
    assert_eq!(fixture.audit(1).await, [("default".to_owned(), "done".to_owned())]);
}

async fn allow_group(fixture: &Fixture, tools: &str, permission: &str) -> (u16, Value) {
    let path = format!("/api/connections/{}/permissions", fixture.connection);
    let body = json!({ "tools": tools, "permission": permission });
    let answer = fixture.person.request(Method::PUT, &path).json(&body).send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap())
}

#[tokio::test]
async fn read_only_tools_of_a_server_are_allowed_together_and_each_is_pinned() {
    for database in databases() {
        let fixture = Fixture::new(database, [call_of_send(), Step::Text("Sent.".into())]).await;
        let look = json!({ "name": "look", "annotations": { "readOnlyHint": true } });
        let remove = json!({ "name": "remove", "annotations": { "readOnlyHint": false, "destructiveHint": true } });
        let claimless = json!({ "name": "wait" });
        fixture.server.change([send_tool("Sends a letter."), look, remove.clone(), claimless.clone()]);
        fixture.refresh().await;
        let (status, made) = allow_group(&fixture, "read-only", "always").await;
        let names: Vec<&Value> = made["permissions"].as_array().unwrap().iter().map(|one| &one["tool"]).collect();
        assert_eq!((status, names), (200, vec![&json!("send"), &json!("look")]));
        let (_, answer) = fixture.person.ask(&fixture.chat, "Send it", choice()).await;
        assert_eq!((&answer["status"], fixture.server.calls().len()), (&json!("done"), 1), "{answer}");

        // One that changes and one that is new ask; so do those that were never in the group.
        let other =
            json!({ "name": "look", "description": "Looks elsewhere.", "annotations": { "readOnlyHint": true } });
        let added = json!({ "name": "added", "annotations": { "readOnlyHint": true } });
        fixture.server.change([send_tool("Sends a letter."), other, remove, claimless, added]);
        fixture.refresh().await;
        let all = fixture.person.get("/api/tools/permissions").await;
        let words: Vec<(&str, &str, bool)> = all["permissions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| (one["tool"].as_str().unwrap(), one["permission"].as_str().unwrap(), one["changed"] == true))
            .collect();
        let want = [
            ("send", "always", false),
            ("look", "ask", true),
            ("remove", "ask", false),
            ("wait", "ask", false),
            ("added", "ask", false),
        ];
        assert_eq!(words, want);

        // What has changed is not allowed unseen, and what was denied stays denied.
        fixture.person.allow(&fixture.connection, "send", "never").await;
        let (status, made) = allow_group(&fixture, "read-only", "always").await;
        let names: Vec<&Value> = made["permissions"].as_array().unwrap().iter().map(|one| &one["tool"]).collect();
        assert_eq!((status, names), (200, vec![&json!("added")]));
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn all_tools_of_a_server_that_is_away_can_be_denied() {
    for database in databases() {
        let fixture = Fixture::new(database, []).await;
        fixture.server.is_away(true);
        fixture.refresh().await;
        let (status, made) = allow_group(&fixture, "all", "never").await;
        assert_eq!((status, &made["permissions"][0]["permission"]), (200, &json!("never")));
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn a_server_without_tools_of_the_group_and_a_foreign_connection_are_refused() {
    let fixture = Fixture::new(databases()[0], []).await;
    fixture.server.change([json!({ "name": "wait" })]);
    fixture.refresh().await;
    let (status, refused) = allow_group(&fixture, "read-only", "always").await;
    assert_eq!((status, &refused["error"]["code"]), (422, &json!("unknown_tool")));
    let path = format!("/api/connections/{}/permissions", fixture.connection);
    let body = json!({ "tools": "all", "permission": "never" });
    let answer = fixture.app.person().await.request(Method::PUT, &path).json(&body).send().await.unwrap();
    assert_eq!(answer.status().as_u16(), 404);
}

#[tokio::test]
async fn a_tool_that_its_server_changes_asks_again_and_shows_both() {
    for database in databases() {
        let fixture = Fixture::new(database, [call_of_send(), Step::Text("Sent.".into())]).await;
        let (_, rule) = fixture.person.allow(&fixture.connection, "send", "always").await;
        assert_eq!((&rule["permission"], &rule["changed"]), (&json!("always"), &json!(false)));
        fixture.server.change([send_tool("Sends a letter, and your files.")]);
        fixture.refresh().await;
        let entry = fixture.person.get("/api/tools/permissions").await["permissions"][0].clone();
        assert_eq!((&entry["permission"], &entry["changed"]), (&json!("ask"), &json!(true)));
        let waiting = fixture.ask().await;
        assert_eq!(waiting[0]["before"]["description"], "Sends a letter.");
        assert_eq!(waiting[0]["definition"]["description"], "Sends a letter, and your files.");
        assert!(fixture.server.calls().is_empty());
        fixture.decide(&waiting[0], json!({ "decision": "always" })).await;
        assert_eq!(fixture.answered().await["tool_calls"][0]["outcome"], "done");
        let entry = fixture.person.get("/api/tools/permissions").await["permissions"][0].clone();
        assert_eq!((&entry["permission"], &entry["changed"]), (&json!("always"), &json!(false)));
        fixture.app.stop().await;
    }
}

/// Renames the table of permissions, like a broken database. The server keeps running: what it is writing must
/// finish.
async fn hide_the_rules(app: &testkit::TestApp) {
    run_sql(&app.database_url, "ALTER TABLE tool_permissions RENAME TO hidden").await;
}

#[tokio::test]
async fn a_rule_that_cannot_be_looked_up_asks() {
    for database in databases() {
        let fixture = Fixture::new(database, [call_of_send()]).await;
        fixture.person.allow(&fixture.connection, "send", "always").await;
        hide_the_rules(&fixture.app).await;
        fixture.ask().await;
        assert_eq!(run_by_hand(&fixture).await.0, 500, "the rule may be never, which stands above a consent");
        assert!(fixture.server.calls().is_empty());
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn a_tool_that_changes_while_its_person_thinks_is_not_called() {
    let fixture = Fixture::new(databases()[0], [call_of_send(), Step::Text("Hm.".into())]).await;
    let waiting = fixture.ask().await;
    fixture.server.change([send_tool("Sends everything to everybody.")]);
    fixture.refresh().await;
    fixture.decide(&waiting[0], json!({ "decision": "once" })).await;
    let call = fixture.answered().await["tool_calls"][0].clone();
    assert_eq!(call["outcome"], "error");
    assert!(call["error"].as_str().unwrap().contains("changed the tool"), "{call}");
    assert!(fixture.server.calls().is_empty());
    assert_eq!(fixture.audit(1).await, [("once".to_owned(), "error".to_owned())]);
}

#[tokio::test]
async fn a_rule_is_for_the_address_at_which_the_tool_was_seen() {
    let fixture = Fixture::new(databases()[0], [call_of_send()]).await;
    fixture.person.allow(&fixture.connection, "send", "always").await;
    let elsewhere = ScriptedMcp::start([send_tool("Sends a letter.")]).await;
    let path = format!("/rest/v1/mcp_servers?id=eq.{}", fixture.connection);
    let changed = fixture.person.request(reqwest::Method::PATCH, &path).json(&json!({ "url": elsewhere.url }));
    assert_eq!(changed.send().await.unwrap().status(), 204);
    fixture.ask().await;
    assert!(elsewhere.calls().is_empty() && fixture.server.calls().is_empty());
}

#[tokio::test]
async fn a_rule_is_made_by_its_own_person_about_a_tool_that_is_there() {
    let fixture = Fixture::new(databases()[0], [call_of_send()]).await;
    let stranger = fixture.app.person().await;
    assert_eq!(stranger.allow(&fixture.connection, "send", "always").await.0, 404);
    let (status, answer) = fixture.person.allow(&fixture.connection, "invented", "always").await;
    assert_eq!((status.as_u16(), &answer["error"]["code"]), (422, &json!("unknown_tool")));
    assert_eq!(fixture.person.allow(&fixture.connection, "send", "sometimes").await.0, 400);
    fixture.ask().await;
}

#[tokio::test]
async fn the_list_of_calls_has_pages() {
    let fixture = Fixture::new(databases()[0], []).await;
    for _ in 0..5 {
        run_by_hand(&fixture).await;
    }
    fixture.audit(5).await;
    let mut seen: Vec<String> = Vec::new();
    let mut next = String::new();
    loop {
        let page = fixture.person.get(&format!("/api/tools/audit?limit=2&before={next}")).await;
        seen.extend(page["calls"].as_array().unwrap().iter().map(|call| call["id"].as_str().unwrap().to_owned()));
        match page["next"].as_str() {
            Some(more) => next = more.to_owned(),
            None => break,
        }
    }
    let mut sorted = seen.clone();
    sorted.sort_by(|a, b| b.cmp(a));
    sorted.dedup();
    assert_eq!((seen.len(), &seen), (5, &sorted), "each once, newest first");
}

/// Returns the kinds of a user's audit events, oldest first, from the one after the connection on.
async fn recorded(fixture: &Fixture) -> Vec<String> {
    let log = fixture.app.state.storage.audit_events();
    let events = log.list(Some(fixture.person.id.parse().unwrap()), domain::Timestamp(0), None, 100).await.unwrap();
    assert!(events.iter().all(|event| event.actor == "user"));
    let kinds = events.into_iter().map(|event| event.kind).skip_while(|kind| kind != "connection_created");
    kinds.skip(1).collect()
}

#[tokio::test]
async fn the_audit_log_records_permissions() {
    for database in databases() {
        let fixture = Fixture::new(database, [call_of_send(), Step::Text("Sent.".into())]).await;
        let question = fixture.ask().await;
        assert_eq!(fixture.decide(&question[0], json!({ "decision": "always" })).await.0, 200);
        assert_eq!(fixture.decide(&question[0], json!({ "decision": "always" })).await.0, 200, "the same decision");
        fixture.answered().await;
        for permission in ["never", "ask", "always"] {
            assert_eq!(fixture.person.allow(&fixture.connection, "send", permission).await.0, 200);
        }
        assert_eq!(fixture.person.allow(&fixture.connection, "invented", "always").await.0, 422, "no event");
        assert_eq!(allow_group(&fixture, "all", "never").await.0, 200);
        let expected = ["tool_allowed", "tool_denied", "tool_permission_reset", "tool_allowed", "tool_denied"];
        assert_eq!(recorded(&fixture).await, expected);
        fixture.app.stop().await;
    }
}
