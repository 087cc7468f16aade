//! Elicitations, their responses, and what the server receives of them.

use serde_json::{Value, json};
use testkit::{CallAnswer, PageEvents, Step, databases};

use crate::elicitations::{Fixture, STATE, asks, form, question};

#[tokio::test]
async fn a_form_is_checked_and_what_was_filled_in_reaches_the_server_with_its_state() {
    for database in databases() {
        let fixture = Fixture::modern(database, [asks(&json!({ "table": question(&form()) }))]).await;
        let asked = fixture.ask().await;
        let [asked] = &asked[..] else { panic!("{asked:?}") };
        assert_eq!((&asked["name"], &asked["serverName"]), (&json!("book"), &json!("inn")));
        let request = &asked["request"];
        assert_eq!((&request["mode"], &request["message"]), (&json!("form"), &json!("When, and how many?")));
        assert_eq!(request["fields"][0]["name"], "day", "what is required comes first");
        assert_eq!((&request["fields"][1]["kind"], &request["fields"][1]["default"]), (&json!("number"), &json!(2)));
        for (content, problem) in [
            (json!({}), "day: fill this in"),
            (json!({ "day": "tomorrow" }), "day: enter a date, such as 2026-11-21"),
            (json!({ "day": "2026-11-21", "people": 9 }), "people: at most 8"),
        ] {
            let (status, refused) = fixture.answer(asked, json!({ "action": "accept", "content": content })).await;
            assert_eq!((status, &refused["error"]["code"]), (422, &json!("bad_content")));
            assert_eq!(refused["error"]["message"], problem);
        }
        assert_eq!(fixture.server.call_params().len(), 1, "it waits");
        let content = json!({ "day": "2026-11-21", "people": null });
        let (status, answer) = fixture.answer(asked, json!({ "action": "accept", "content": content })).await;
        assert_eq!((status, answer), (200, json!({ "action": "accept", "first": true })));
        assert_eq!(fixture.call().await["outcome"], "done");
        let again = fixture.server.call_params()[1].clone();
        assert_eq!(again["requestState"], STATE);
        // A cleared field is omitted; its default value is not restored.
        let want = json!({ "table": { "action": "accept", "content": { "day": "2026-11-21" } } });
        assert_eq!(again["inputResponses"], want);
        // The action is stored, the content is not.
        let (owner, chat) = (fixture.person.id.parse().unwrap(), fixture.chat.parse().unwrap());
        let id = asked["elicitationId"].as_str().unwrap().parse().unwrap();
        let row = fixture.app.state.storage.interactions().get(owner, chat, id).await.unwrap().unwrap();
        assert!(row.resume_state().is_none() && row.answer().unwrap().content.is_none());
        let (status, answer) = fixture.answer(asked, json!({ "action": "decline" })).await;
        assert_eq!((status, answer), (200, json!({ "action": "accept", "first": false })), "later ones are told it");
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn declining_and_cancelling_are_two_things() {
    for action in ["decline", "cancel"] {
        let fixture = Fixture::modern(databases()[0], [asks(&json!({ "table": question(&form()) }))]).await;
        let asked = fixture.ask().await;
        fixture.answer(&asked[0], json!({ "action": action, "content": { "day": "2026-11-21" } })).await;
        assert_eq!(fixture.call().await["outcome"], "done");
        assert_eq!(fixture.server.call_params()[1]["inputResponses"], json!({ "table": { "action": action } }));
    }
}

#[tokio::test]
async fn a_server_may_ask_again_and_again_up_to_a_limit() {
    let rounds = (0..11).map(|_| asks(&json!({ "table": question(&form()) })));
    let fixture = Fixture::modern(databases()[0], rounds).await;
    let mut asked = fixture.ask().await;
    for round in 1..=10 {
        fixture.answer(&asked[0], json!({ "action": "decline" })).await;
        if round < 10 {
            asked = fixture.waiting(1).await;
        }
    }
    let call = fixture.call().await;
    assert!(call["error"].as_str().unwrap().contains("keeps asking"), "{call}");
    assert_eq!(fixture.server.call_params().len(), 10);
}

#[tokio::test]
async fn a_server_of_before_asks_while_it_holds_the_call() {
    for database in databases() {
        let fixture = Fixture::legacy(database, [CallAnswer::Ask(form())]).await;
        let asked = fixture.ask().await;
        let content = json!({ "day": "2026-11-21", "people": 3 });
        assert_eq!(fixture.answer(&asked[0], json!({ "action": "accept", "content": content })).await.0, 200);
        let call = fixture.call().await;
        let said: Value = serde_json::from_str(call["result"]["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(said, json!({ "action": "accept", "content": content }));
        assert_eq!(fixture.server.call_params().len(), 1);
        fixture.app.stop().await;
    }
}

fn payment(number: u8) -> Value {
    let url = format!("https://pay.example/{number}");
    json!({ "mode": "url", "elicitationId": format!("e{number}"), "url": url, "message": "Pay first" })
}

#[tokio::test]
async fn visits_that_a_server_demands_are_asked_for_one_by_one_and_then_the_call_is_made_again() {
    let demand = || CallAnswer::Error(-32042, "Pay first", json!({ "elicitations": [payment(1), payment(2)] }));
    let fixture = Fixture::legacy(databases()[0], [demand()]).await;
    let asked = fixture.ask().await;
    assert_eq!(asked[0]["request"]["url"], "https://pay.example/1");
    assert_eq!((&asked[0]["request"]["mode"], &asked[0]["request"]["retriesCall"]), (&json!("url"), &json!(true)));
    fixture.answer(&asked[0], json!({ "action": "accept" })).await;
    let then = fixture.waiting(1).await;
    assert_eq!(then[0]["request"]["url"], "https://pay.example/2");
    assert_eq!(fixture.server.call_params().len(), 1);
    fixture.answer(&then[0], json!({ "action": "accept" })).await;
    assert_eq!(fixture.call().await["outcome"], "done");
    assert_eq!(fixture.server.call_params().len(), 2);

    let fixture = Fixture::legacy(databases()[0], [demand()]).await;
    let asked = fixture.ask().await;
    fixture.answer(&asked[0], json!({ "action": "cancel" })).await;
    let call = fixture.call().await;
    assert_eq!(call["error"], "The server inn answered with an error: Pay first (-32042).");
    assert_eq!(fixture.server.call_params().len(), 1);
}

#[tokio::test]
async fn two_tabs_answer_once() {
    for database in databases() {
        let fixture = Fixture::modern(database, [asks(&json!({ "table": question(&form()) }))]).await;
        let asked = fixture.ask().await;
        let answers = futures_util::future::join_all(["decline", "cancel", "decline", "cancel"].map(|action| {
            let (fixture, asked) = (&fixture, &asked[0]);
            async move { fixture.answer(asked, json!({ "action": action })).await }
        }))
        .await;
        let first: Vec<_> = answers.iter().filter(|(_, answer)| answer["first"] == true).collect();
        assert_eq!(first.len(), 1, "{answers:?}");
        assert!(answers.iter().all(|(status, answer)| *status == 200 && answer["action"] == first[0].1["action"]));
        fixture.call().await;
        assert_eq!(fixture.server.call_params()[1]["inputResponses"]["table"]["action"], first[0].1["action"]);
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn the_question_of_another_person_is_not_there_and_one_that_ended_says_so() {
    let fixture = Fixture::modern(databases()[0], [asks(&json!({ "table": question(&form()) }))]).await;
    let asked = fixture.ask().await;
    let stranger = fixture.app.person().await;
    let own_chat = stranger.new_chat().await;
    let id = asked[0]["elicitationId"].as_str().unwrap();
    for chat in [&fixture.chat, &own_chat] {
        let path = format!("/api/sessions/{chat}/elicitations/{id}");
        assert_eq!(stranger.post(&path, &json!({ "action": "decline" })).await.0, 404);
    }
    fixture.person.post(&format!("/api/sessions/{}/stop", fixture.chat), &json!({})).await;
    assert_eq!(fixture.call().await["outcome"], "stopped", "nothing ran while it waited");
    let (status, refused) = fixture.answer(&asked[0], json!({ "action": "decline" })).await;
    assert_eq!((status, &refused["error"]["code"]), (409, &json!("elicitation_closed")));
    assert_eq!(fixture.server.call_params().len(), 1);
}

#[tokio::test]
async fn pages_hear_when_turn_waits_for_answer_and_goes_on() {
    for database in databases() {
        let fixture = Fixture::modern(database, [asks(&json!({ "a": question(&form()) }))]).await;
        let mut page = PageEvents::open(&fixture.person).await;
        let asked = fixture.ask().await;
        assert_eq!(page.turn_state(&fixture.chat).await, "started");
        let waiting_for = json!({ "kind": "elicitation", "tool": "book" });
        assert_eq!(page.turn_event(&fixture.chat, "waiting").await["waitingFor"], waiting_for);
        // Opened after the event, which it would otherwise get as well as the state.
        let mut later = PageEvents::open(&fixture.person).await;
        assert_eq!(later.turn_event(&fixture.chat, "waiting").await["waitingFor"], waiting_for);
        // A turn that ends at once could be reported as ended without being reported as started.
        fixture.model.replace_steps([Step::Hang("Then not.".into())]);
        fixture.answer(&asked[0], json!({ "action": "decline" })).await;
        for page in [&mut page, &mut later] {
            assert_eq!(page.turn_state(&fixture.chat).await, "started");
        }
        fixture.person.post(&format!("/api/sessions/{}/stop", fixture.chat), &json!({})).await;
        for mut page in [page, later] {
            assert_eq!(page.turn_state(&fixture.chat).await, "ended");
        }
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn turn_whose_question_was_withdrawn_goes_on_for_pages() {
    for database in databases() {
        let fixture = Fixture::modern(database, [asks(&json!({ "a": question(&form()) }))]).await;
        let mut page = PageEvents::open(&fixture.person).await;
        let asked = fixture.ask().await;
        while page.turn_state(&fixture.chat).await != "waiting" {}
        // A turn that ends at once could be reported as ended without being reported as started.
        fixture.model.replace_steps([Step::Hang("Then not.".into())]);
        let call = asked[0]["toolCallId"].as_str().unwrap();
        let cancel = format!("/api/sessions/{}/calls/{call}/cancel", fixture.chat);
        assert_eq!(fixture.person.post(&cancel, &json!({})).await.1, json!({ "cancelled": true }));
        assert_eq!(page.turn_state(&fixture.chat).await, "started");
        fixture.app.stop().await;
    }
}
