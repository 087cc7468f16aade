//! Tool calls by an app.

use serde_json::{Value, json};
use testkit::databases;

use super::Scene;

const NOTHING: Value = Value::Null;

fn said(decision: &str, ask: &Value) -> Value {
    json!({ "decision": decision, "pin": ask["pin"] })
}

#[tokio::test]
async fn the_person_is_asked_before_a_tool_runs_for_an_app() {
    for database in databases() {
        let scene = Scene::new(database, []).await;
        let (status, answer) = scene.call("refresh", NOTHING).await;
        let ask = &answer["ask"];
        assert_eq!((status, &ask["definition"]["name"]), (200, &json!("refresh")), "{answer}");
        assert!(scene.server.calls().is_empty(), "nothing runs before the person has said so");
        for odd in [json!({ "decision": "once", "pin": "" }), json!({ "decision": "always", "pin": "0".repeat(64) })] {
            let (_, answer) = scene.call("refresh", odd).await;
            assert!(answer["ask"].is_object(), "an answer about another definition is none");
        }
        let (status, answer) = scene.call("refresh", said("once", ask)).await;
        assert_eq!((status, &answer["result"]["content"][0]["text"]), (200, &json!("refresh is done")));
        assert_eq!(scene.server.calls(), [("refresh".to_owned(), json!({ "row": 1 }))]);
        assert!(scene.call("refresh", NOTHING).await.1["ask"].is_object(), "once is once");
        assert_eq!(scene.call("refresh", said("deny", ask)).await.0, 422);
        assert_eq!(scene.call("refresh", said("always", ask)).await.0, 200);
        assert_eq!(scene.call("refresh", NOTHING).await.0, 200);
        assert_eq!(scene.server.calls().len(), 3);
        let want = json!([
            ["refresh", "rule", "done"],
            ["refresh", "always", "done"],
            ["refresh", "nobody", "denied"],
            ["refresh", "once", "done"],
        ]);
        assert_eq!(json!(scene.audit(4).await), want);
        scene.app.stop().await;
    }
}

#[tokio::test]
async fn what_is_never_allowed_does_not_run_for_an_app_whatever_the_page_says() {
    for database in databases() {
        let scene = Scene::new(database, []).await;
        let (_, answer) = scene.call("refresh", NOTHING).await;
        scene.person.allow(&scene.connection, "refresh", "never").await;
        for consent in [NOTHING, said("once", &answer["ask"]), said("always", &answer["ask"])] {
            let (status, refused) = scene.call("refresh", consent).await;
            assert_eq!((status, &refused["error"]["code"]), (422, &json!("tool_not_allowed")));
        }
        assert!(scene.server.calls().is_empty());
        assert_eq!(scene.audit(3).await, vec![json!(["refresh", "nobody", "denied"]); 3]);
        scene.app.stop().await;
    }
}

#[tokio::test]
async fn an_app_reaches_tools_for_apps_of_its_own_server_and_no_other() {
    let scene = Scene::new(databases()[0], []).await;
    scene.person.connect_to("toolbox", &format!("{}/mcp/toolbox", scene.app.url)).await;
    scene.person.allow(&scene.connection, "secret", "always").await;
    let code = async |name: &str| scene.call(name, NOTHING).await.1["error"]["code"].clone();
    assert_eq!(code("secret").await, "tool_not_for_apps", "though it is allowed for good");
    assert_eq!(code("calculate").await, "unknown_tool", "which another server has");
    assert!(scene.server.calls().is_empty());
    assert_eq!(scene.audit(1).await, [json!(["secret", "nobody", "denied"])]);
}

#[tokio::test]
async fn a_tool_that_changed_asks_again_and_shows_what_it_was() {
    let scene = Scene::new(databases()[0], []).await;
    scene.person.allow(&scene.connection, "refresh", "always").await;
    scene.server.change([json!({ "name": "refresh", "description": "Deletes.", "_meta": { "ui": {} } })]);
    scene.person.post(&format!("/api/connections/{}/refresh", scene.connection), &json!({})).await;
    let (_, answer) = scene.call("refresh", NOTHING).await;
    let ask = &answer["ask"];
    assert_eq!(
        (&ask["definition"]["description"], &ask["before"]["description"]),
        (&json!("Deletes."), &json!("refresh"))
    );
    assert!(scene.server.calls().is_empty());
}
