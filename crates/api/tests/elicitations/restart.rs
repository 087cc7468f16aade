//! A call that waits for an elicitation while the server restarts.

use serde_json::{Value, json};
use testkit::{CallAnswer, Step, TestApp, databases};

use crate::elicitations::{Fixture, STATE, asks, form, question};

/// Restarts the server on the same data.
async fn again(fixture: Fixture) -> Fixture {
    let Fixture { model, server, app, mut person, chat, answered } = fixture;
    let (folder, database) = app.stop().await;
    let settings = TestApp::builder().on_data_of(&folder, &database).set("OPENAI_BASE_URL", &model.base_url);
    let app = settings.start().await;
    person.move_to(&app);
    Fixture { model, server, app, person, chat, answered }
}

#[tokio::test]
async fn questions_survive_the_end_of_the_program_and_so_do_answers() {
    for database in databases() {
        let visit = json!({ "mode": "url", "url": "https://pay.example/", "message": "Pay" });
        let questions = json!({ "a": question(&form()), "b": question(&visit), "c": question(&form()) });
        let fixture = Fixture::modern(database, [asks(&questions)]).await;
        let asked = fixture.ask().await;
        let content = json!({ "day": "2026-11-21" });
        fixture.answer(&asked[0], json!({ "action": "accept", "content": content })).await;
        let second = fixture.waiting(1).await;
        let fixture = again(fixture).await;
        assert_eq!(fixture.waiting(1).await, second, "the same question");
        fixture.answer(&second[0], json!({ "action": "accept" })).await;
        let third = fixture.waiting(1).await;
        assert_ne!(third, second);
        // The order of the step's calls holds, however many times the server restarts.
        let fixture = again(fixture).await;
        assert_eq!(fixture.waiting(1).await, third);
        fixture.answer(&third[0], json!({ "action": "decline" })).await;
        assert_eq!(fixture.call().await["outcome"], "done");
        let requests = fixture.server.call_params();
        assert_eq!(requests.len(), 2);
        assert_eq!(requests[1]["requestState"], STATE);
        let said = json!({
            "a": { "action": "accept", "content": content }, "b": { "action": "accept" }, "c": { "action": "decline" },
        });
        assert_eq!(requests[1]["inputResponses"], said);
        assert_eq!(fixture.person.messages(&fixture.chat).await.pop().unwrap()["content"], "Settled.");
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn a_tool_that_changed_meanwhile_is_not_gone_on_with() {
    let fixture = Fixture::modern(databases()[0], [asks(&json!({ "a": question(&form()) }))]).await;
    let asked = fixture.ask().await;
    let fixture = again(fixture).await;
    fixture.server.change([json!({ "name": "book", "description": "Books everything." })]);
    fixture.answer(&asked[0], json!({ "action": "decline" })).await;
    let call = fixture.call().await;
    assert!(call["error"].as_str().unwrap_or_default().contains("changed the tool"), "{call}");
    assert_eq!(fixture.server.call_params().len(), 1);
}

#[tokio::test]
async fn a_call_that_its_server_held_is_lost_and_not_repeated() {
    for database in databases() {
        let fixture = Fixture::legacy(database, [CallAnswer::Ask(form())]).await;
        let asked = fixture.ask().await;
        fixture.model.push(Step::Text("never asked".into()));
        let fixture = again(fixture).await;
        let answer: Value = fixture.person.messages(&fixture.chat).await.pop().unwrap();
        assert_eq!(
            (&answer["status"], &answer["tool_calls"][0]["outcome"]),
            (&json!("interrupted"), &json!("unknown"))
        );
        let (status, refused) = fixture.answer(&asked[0], json!({ "action": "decline" })).await;
        assert_eq!((status, &refused["error"]["code"]), (409, &json!("elicitation_closed")));
        assert_eq!(fixture.server.call_params().len(), 1);
        fixture.app.stop().await;
    }
}
