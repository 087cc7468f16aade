//! Continuing and regenerating interrupted answers.

use serde_json::json;
use testkit::{Step, databases};

use super::{app_with, ids, said, says, steer};

#[tokio::test]
async fn an_answer_that_broke_off_goes_on_below_it() {
    for database in databases() {
        let steps = [Step::BreakOff("Once upon".into()), says(" a time."), says("The end.")];
        let (app, model) = app_with(database, steps).await;
        let person = app.person().await;
        let chat = person.new_chat().await;
        assert_eq!(person.ask(&chat, "A story", json!([])).await.0.as_u16(), 502);
        let half = ids(&person, &chat).await.pop().unwrap();
        let (status, answer) = steer(&person, &chat, json!({ "continues": half })).await;
        assert_eq!((status, &answer["content"]), (200, &json!(" a time.")));
        assert_eq!(said(&person, &chat).await, ["A story", "Once upon", " a time."]);
        let asked = model.requests()[1]["messages"].clone();
        let roles: Vec<&str> = asked.as_array().unwrap().iter().map(|one| one["role"].as_str().unwrap()).collect();
        assert_eq!(roles, ["system", "user", "assistant", "user"]);
        assert!(asked[3]["content"].to_string().contains("broke off"), "{asked}");

        // Both parts are one answer to the same message.
        let rest = ids(&person, &chat).await.pop().unwrap();
        assert_eq!(steer(&person, &chat, json!({ "continues": half })).await.0, 404, "it is not the last any more");
        assert_eq!(steer(&person, &chat, json!({ "replaces": rest })).await.0, 200);
        assert_eq!(said(&person, &chat).await, ["A story", "The end."]);
        let forks = person.get(&format!("/api/sessions/{chat}/branches")).await;
        assert_eq!(forks["forks"][0]["branches"][0], half, "{forks}");
    }
}

#[tokio::test]
async fn a_turn_begins_at_no_place_that_is_not_there() {
    for database in databases() {
        let (app, _model) = app_with(database, [says("Hi.")]).await;
        let (person, stranger) = (app.person().await, app.person().await);
        let chat = person.new_chat().await;
        person.ask(&chat, "Hello", json!([])).await;
        let before = ids(&person, &chat).await;
        let (question, answer) = (before[0].clone(), before[1].clone());
        for (more, status) in [
            (json!({ "replaces": chat }), 404),
            (json!({ "replaces": question }), 404),
            (json!({ "replaces": answer, "message": "I say" }), 404),
            (json!({ "continues": question }), 404),
            (json!({ "replaces": answer, "continues": answer }), 400),
            (json!({ "replaces": question, "message": " " }), 400),
            (json!({}), 400),
        ] {
            assert_eq!(steer(&person, &chat, more.clone()).await.0, status, "{more}");
        }
        let own = stranger.new_chat().await;
        for (at, status) in [(&chat, 404), (&own, 404)] {
            assert_eq!(steer(&stranger, at, json!({ "replaces": answer })).await.0, status);
        }
        assert_eq!(ids(&person, &chat).await, before);
    }
}
