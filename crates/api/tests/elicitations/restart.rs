//! A call that waits for an elicitation while the server restarts.

use serde_json::{Value, json};
use testkit::{CallAnswer, Step, TestApp, databases};

use crate::elicitations::{STATE, Scene, asks, form, question};

/// Restarts the server on the same data.
async fn again(scene: Scene) -> Scene {
    let Scene { model, server, app, mut person, chat, answered } = scene;
    let (folder, database) = app.stop().await;
    let settings = TestApp::builder().on_data_of(&folder, &database).set("OPENAI_BASE_URL", &model.base_url);
    let app = settings.start().await;
    person.move_to(&app);
    Scene { model, server, app, person, chat, answered }
}

#[tokio::test]
async fn questions_survive_the_end_of_the_program_and_so_do_answers() {
    for database in databases() {
        let visit = json!({ "mode": "url", "url": "https://pay.example/", "message": "Pay" });
        let questions = json!({ "a": question(&form()), "b": question(&visit), "c": question(&form()) });
        let scene = Scene::modern(database, [asks(&questions)]).await;
        let asked = scene.ask().await;
        let content = json!({ "day": "2026-11-21" });
        scene.answer(&asked[0], json!({ "action": "accept", "content": content })).await;
        let second = scene.waiting(1).await;
        let scene = again(scene).await;
        assert_eq!(scene.waiting(1).await, second, "the same question");
        scene.answer(&second[0], json!({ "action": "accept" })).await;
        let third = scene.waiting(1).await;
        assert_ne!(third, second);
        // The order of the step's calls holds, however many times the server restarts.
        let scene = again(scene).await;
        assert_eq!(scene.waiting(1).await, third);
        scene.answer(&third[0], json!({ "action": "decline" })).await;
        assert_eq!(scene.call().await["outcome"], "done");
        let requests = scene.server.call_params();
        assert_eq!(requests.len(), 2);
        assert_eq!(requests[1]["requestState"], STATE);
        let said = json!({
            "a": { "action": "accept", "content": content }, "b": { "action": "accept" }, "c": { "action": "decline" },
        });
        assert_eq!(requests[1]["inputResponses"], said);
        assert_eq!(scene.person.messages(&scene.chat).await.pop().unwrap()["content"], "Settled.");
        scene.app.stop().await;
    }
}

#[tokio::test]
async fn a_tool_that_changed_meanwhile_is_not_gone_on_with() {
    let scene = Scene::modern(databases()[0], [asks(&json!({ "a": question(&form()) }))]).await;
    let asked = scene.ask().await;
    let scene = again(scene).await;
    scene.server.change([json!({ "name": "book", "description": "Books everything." })]);
    scene.answer(&asked[0], json!({ "action": "decline" })).await;
    let call = scene.call().await;
    assert!(call["error"].as_str().unwrap_or_default().contains("changed the tool"), "{call}");
    assert_eq!(scene.server.call_params().len(), 1);
}

#[tokio::test]
async fn a_call_that_its_server_held_is_lost_and_not_repeated() {
    for database in databases() {
        let scene = Scene::legacy(database, [CallAnswer::Ask(form())]).await;
        let asked = scene.ask().await;
        scene.model.push(Step::Text("never asked".into()));
        let scene = again(scene).await;
        let answer: Value = scene.person.messages(&scene.chat).await.pop().unwrap();
        assert_eq!(
            (&answer["status"], &answer["tool_calls"][0]["outcome"]),
            (&json!("interrupted"), &json!("unknown"))
        );
        let (status, refused) = scene.answer(&asked[0], json!({ "action": "decline" })).await;
        assert_eq!((status, &refused["error"]["code"]), (409, &json!("elicitation_closed")));
        assert_eq!(scene.server.call_params().len(), 1);
        scene.app.stop().await;
    }
}
