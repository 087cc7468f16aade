//! Tool calls by an app.

use serde_json::{Value, json};
use testkit::databases;

use super::Fixture;

const NOTHING: Value = Value::Null;

fn said(decision: &str, ask: &Value) -> Value {
    json!({ "decision": decision, "pin": ask["pin"] })
}

#[tokio::test]
async fn the_person_is_asked_before_a_tool_runs_for_an_app() {
    for database in databases() {
        let fixture = Fixture::new(database, []).await;
        let (status, answer) = fixture.call("refresh", NOTHING).await;
        let ask = &answer["ask"];
        assert_eq!((status, &ask["definition"]["name"]), (200, &json!("refresh")), "{answer}");
        assert!(fixture.server.calls().is_empty(), "nothing runs before the person has said so");
        for odd in [json!({ "decision": "once", "pin": "" }), json!({ "decision": "always", "pin": "0".repeat(64) })] {
            let (_, answer) = fixture.call("refresh", odd).await;
            assert!(answer["ask"].is_object(), "an answer about another definition is none");
        }
        let (status, answer) = fixture.call("refresh", said("once", ask)).await;
        assert_eq!((status, &answer["result"]["content"][0]["text"]), (200, &json!("refresh is done")));
        assert_eq!(fixture.server.calls(), [("refresh".to_owned(), json!({ "row": 1 }))]);
        assert!(fixture.call("refresh", NOTHING).await.1["ask"].is_object(), "once is once");
        assert_eq!(fixture.call("refresh", said("deny", ask)).await.0, 422);
        assert_eq!(fixture.call("refresh", said("always", ask)).await.0, 200);
        assert_eq!(fixture.call("refresh", NOTHING).await.0, 200);
        assert_eq!(fixture.server.calls().len(), 3);
        let want = json!([
            ["refresh", "rule", "done"],
            ["refresh", "always", "done"],
            ["refresh", "nobody", "denied"],
            ["refresh", "once", "done"],
        ]);
        assert_eq!(json!(fixture.audit(4).await), want);
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn what_is_never_allowed_does_not_run_for_an_app_whatever_the_page_says() {
    for database in databases() {
        let fixture = Fixture::new(database, []).await;
        let (_, answer) = fixture.call("refresh", NOTHING).await;
        fixture.person.allow(&fixture.connection, "refresh", "never").await;
        for consent in [NOTHING, said("once", &answer["ask"]), said("always", &answer["ask"])] {
            let (status, refused) = fixture.call("refresh", consent).await;
            assert_eq!((status, &refused["error"]["code"]), (422, &json!("tool_not_allowed")));
        }
        assert!(fixture.server.calls().is_empty());
        assert_eq!(fixture.audit(3).await, vec![json!(["refresh", "nobody", "denied"]); 3]);
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn an_app_reaches_tools_for_apps_of_its_own_server_and_no_other() {
    let fixture = Fixture::new(databases()[0], []).await;
    fixture.person.connect_to("toolbox", &format!("{}/mcp/toolbox", fixture.app.url)).await;
    fixture.person.allow(&fixture.connection, "secret", "always").await;
    let code = async |name: &str| fixture.call(name, NOTHING).await.1["error"]["code"].clone();
    assert_eq!(code("secret").await, "tool_not_for_apps", "though it is allowed for good");
    assert_eq!(code("calculate").await, "unknown_tool", "which another server has");
    assert!(fixture.server.calls().is_empty());
    assert_eq!(fixture.audit(1).await, [json!(["secret", "nobody", "denied"])]);
}

#[tokio::test]
async fn a_tool_that_changed_asks_again_and_shows_what_it_was() {
    let fixture = Fixture::new(databases()[0], []).await;
    fixture.person.allow(&fixture.connection, "refresh", "always").await;
    fixture.server.change([json!({ "name": "refresh", "description": "Deletes.", "_meta": { "ui": {} } })]);
    fixture.person.post(&format!("/api/connections/{}/refresh", fixture.connection), &json!({})).await;
    let (_, answer) = fixture.call("refresh", NOTHING).await;
    let ask = &answer["ask"];
    assert_eq!(
        (&ask["definition"]["description"], &ask["before"]["description"]),
        (&json!("Deletes."), &json!("refresh"))
    );
    assert!(fixture.server.calls().is_empty());
}
