//! Context that apps provide to the model.

use serde_json::{Value, json};
use testkit::{Step, databases};

use super::Fixture;

fn context(text: &str) -> Value {
    json!({
        "serverName": "boards", "tool": "board", "content": [{ "type": "text", "text": text }],
        "structuredContent": { "row": 7 },
    })
}

#[tokio::test]
async fn it_goes_with_the_message_is_stored_and_is_marked_as_an_apps() {
    for database in databases() {
        let fixture = Fixture::new(database, [Step::Text("One.".into()), Step::Text("Two.".into())]).await;
        let chat = fixture.person.new_chat().await;
        let body =
            json!({ "message": "Go on", "sessionId": chat, "tools": [], "contexts": [context("Row 7 is chosen.")] });
        assert_eq!(fixture.person.post("/functions/v1/ai-chat", &body).await.0, 200);
        fixture.person.ask(&chat, "And now?", json!([])).await;
        let messages = fixture.person.messages(&chat).await;
        assert_eq!(messages[0]["content"], "Go on", "the person's words stay theirs");
        assert_eq!(messages[0]["parts"][0]["context"]["content"][0]["text"], "Row 7 is chosen.");
        assert_eq!(messages[2]["parts"], json!(null));
        for request in fixture.model.requests() {
            let first = request["messages"][1]["content"].to_string();
            let want = "Go on\\n\\n[From the app of the tool board (boards), not from the person: Row 7 is chosen.";
            assert!(first.contains(want), "{first}");
        }
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn it_has_a_bound() {
    let fixture = Fixture::new(databases()[0], []).await;
    let chat = fixture.person.new_chat().await;
    for contexts in [vec![context("x"); 17], vec![context(&"x".repeat(64 * 1024))]] {
        let body = json!({ "message": "Hello", "sessionId": chat, "contexts": contexts });
        let (status, _) = fixture.person.post("/functions/v1/ai-chat", &body).await;
        assert_eq!(status, 400);
    }
    assert!(fixture.person.messages(&chat).await.is_empty());
}
