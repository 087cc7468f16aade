//! Memory limit of a turn.

use serde_json::json;
use testkit::{CallAnswer, ScriptedMcp, ScriptedModel, Step, TestApp, databases};

#[tokio::test]
async fn a_turn_that_says_too_much_is_stopped_with_what_it_has_and_the_next_one_goes_well() {
    for database in databases() {
        let server = ScriptedMcp::start([json!({ "name": "read" })]).await;
        let model = ScriptedModel::start([]).await;
        let app = TestApp::builder()
            .database(database)
            .set("OPENAI_BASE_URL", &model.base_url)
            .set("CHAT_MAX_TURN_MIB", "1")
            .start()
            .await;
        let person = app.person().await;
        let connection = person.connect_to("files", &server.url).await;
        person.allow(&connection, "read", "always").await;
        let chat = person.new_chat().await;
        // As much as is stored in the message itself; 20 of them exceed the limit of the turn.
        let text = "r".repeat(60_000);
        let result = json!({ "content": [{ "type": "text", "text": text }] });
        server.answer_by(move |_| Some(CallAnswer::Result(result.clone())));
        for _ in 0..2 {
            model.push(Step::Calls(vec![("read".into(), json!({})); 10]));
        }
        model.push(Step::Text("It is never asked for this.".into()));
        let tools = json!([{ "name": "read", "serverName": "files" }]);
        let (status, body) = person.ask(&chat, "Read it all", tools).await;
        assert_eq!(status, 502, "{body}");
        let stored = person.messages(&chat).await.pop().unwrap();
        assert_eq!(stored["status"], "failed");
        let error = stored["error"].as_str().unwrap();
        assert_eq!(error, "the answer, with what its tools gave back, came to more than 1 MiB and was stopped");
        let calls = stored["tool_calls"].as_array().unwrap();
        let whole = calls.iter().filter(|call| call["result"].to_string().len() > text.len()).count();
        assert!(calls.len() == 20 && (16..=20).contains(&whole), "what came is whole, for the person: {whole}");
        let last = model.requests().pop().unwrap().to_string();
        assert!(last.len() < 400_000 && last.contains("bytes]"), "for the model it is cut: {}", last.len());
        // The script continues at its next step.
        let (status, answer) = person.ask(&chat, "And now?", json!([])).await;
        assert_eq!((status.as_u16(), &answer["content"]), (200, &json!("It is never asked for this.")));
        app.stop().await;
    }
}
