//! Approval of a third-party tool.

use serde_json::json;
use testkit::{Step, databases};

use crate::tool_permissions::{Fixture, call_of_send, choice, kinds};

#[tokio::test]
async fn a_foreign_tool_waits_for_its_person_and_runs_once_it_is_allowed() {
    for database in databases() {
        let fixture = Fixture::new(database, [call_of_send(), Step::Text("Sent.".into())]).await;
        let waiting = fixture.ask().await;
        let question = &waiting[0];
        assert_eq!((&question["name"], &question["serverName"]), (&json!("send"), &json!("post")));
        assert_eq!(question["arguments"], json!({ "to": "Ada" }));
        assert_eq!(question["definition"]["description"], "Sends a letter.");
        assert_eq!(question["before"], json!(null));
        assert!(fixture.server.calls().is_empty(), "nothing runs before the person has said so");
        assert_eq!(fixture.decide(question, json!({ "decision": "once" })).await.0, 200);
        let events = fixture.person.follow(&fixture.chat).await;
        let want = ["tool-input-start", "tool-input-available", "tool-approval-request", "tool-approval-response"];
        // A fast turn is over before it can be followed.
        if !events.is_empty() {
            assert_eq!(kinds(&events)[..4], want);
        }
        let answer = fixture.answered().await;
        assert_eq!((&answer["content"], &answer["status"]), (&json!("Sent."), &json!("done")));
        assert_eq!(answer["tool_calls"][0]["outcome"], "done");
        assert_eq!(fixture.server.calls(), [("send".to_owned(), json!({ "to": "Ada" }))]);
        assert_eq!(fixture.audit(1).await, [("once".to_owned(), "done".to_owned())]);
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn a_call_that_is_denied_is_not_made_and_the_model_reads_it() {
    for database in databases() {
        let fixture = Fixture::new(database, [call_of_send(), Step::Text("As you like.".into())]).await;
        let waiting = fixture.ask().await;
        let (status, answer) = fixture.decide(&waiting[0], json!({ "decision": "deny" })).await;
        assert_eq!((status, answer), (200, json!({ "decision": "deny", "first": true })));
        let answer = fixture.answered().await;
        let call = &answer["tool_calls"][0];
        assert_eq!((&answer["content"], &call["outcome"]), (&json!("As you like."), &json!("denied")));
        assert!(fixture.server.calls().is_empty());
        let read = fixture.model.requests()[1]["messages"].to_string();
        assert!(read.contains("The person declined this call."), "{read}");
        assert_eq!(fixture.audit(1).await, [("nobody".to_owned(), "denied".to_owned())]);
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn what_is_allowed_for_good_is_not_asked_again() {
    for database in databases() {
        let steps = [call_of_send(), Step::Text("One.".into()), call_of_send(), Step::Text("Two.".into())];
        let fixture = Fixture::new(database, steps).await;
        let waiting = fixture.ask().await;
        fixture.decide(&waiting[0], json!({ "decision": "always" })).await;
        assert_eq!(fixture.answered().await["content"], "One.");
        let (_, answer) = fixture.person.ask(&fixture.chat, "Again", choice()).await;
        assert_eq!((&answer["content"], &answer["status"]), (&json!("Two."), &json!("done")));
        assert_eq!(fixture.server.calls().len(), 2);
        let audit = fixture.audit(2).await;
        assert_eq!(audit, [("rule".to_owned(), "done".to_owned()), ("always".to_owned(), "done".to_owned())]);
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn changed_arguments_are_checked_and_what_ran_is_what_is_stored() {
    let fixture = Fixture::new(databases()[0], [call_of_send(), Step::Text("Sent.".into())]).await;
    let waiting = fixture.ask().await;
    for (arguments, place) in [
        (json!({}), "arguments.to"),
        (json!({ "to": 1 }), "arguments.to"),
        (json!({ "to": "Bob", "cc": "Eve" }), "arguments.cc"),
    ] {
        let (status, refused) =
            fixture.decide(&waiting[0], json!({ "decision": "once", "arguments": arguments })).await;
        assert_eq!((status, &refused["error"]["code"]), (422, &json!("bad_arguments")));
        assert!(refused["error"]["message"].as_str().unwrap().starts_with(place), "{refused}");
    }
    let changed = json!({ "to": "Bob", "count": 2 });
    let (status, _) = fixture.decide(&waiting[0], json!({ "decision": "once", "arguments": changed })).await;
    assert_eq!(status, 200);
    let answer = fixture.answered().await;
    assert_eq!(fixture.server.calls(), [("send".to_owned(), changed.clone())]);
    assert_eq!(answer["tool_calls"][0]["arguments"], changed);
    assert_eq!(answer["parts"][0]["call"]["arguments"], changed);
}

#[tokio::test]
async fn several_calls_of_a_round_wait_at_once_and_each_runs_when_it_is_allowed() {
    let calls = Step::Calls(["Ada", "Bob", "Eve"].map(|to| ("send".into(), json!({ "to": to }))).to_vec());
    let fixture = Fixture::new(databases()[0], [calls, Step::Text("Done.".into())]).await;
    let waiting = fixture.ask().await;
    let waiting = waiting.as_array().unwrap();
    assert_eq!(waiting.len(), 3);
    let of = |to: &str| waiting.iter().find(|call| call["arguments"]["to"] == to).unwrap();
    fixture.decide(of("Bob"), json!({ "decision": "once" })).await;
    while fixture.server.calls().is_empty() {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    assert_eq!(fixture.server.calls(), [("send".to_owned(), json!({ "to": "Bob" }))]);
    fixture.decide(of("Eve"), json!({ "decision": "deny" })).await;
    fixture.decide(of("Ada"), json!({ "decision": "once" })).await;
    let answer = fixture.answered().await;
    let outcomes: Vec<_> = answer["tool_calls"].as_array().unwrap().iter().map(|call| &call["outcome"]).collect();
    assert_eq!(outcomes, ["done", "done", "denied"]);
}

#[tokio::test]
async fn two_tabs_decide_once() {
    for database in databases() {
        let fixture = Fixture::new(database, [call_of_send(), Step::Text("Sent.".into())]).await;
        let waiting = fixture.ask().await;
        let answers = futures_util::future::join_all(["once", "deny", "once", "deny", "always"].map(|decision| {
            let (fixture, question) = (&fixture, &waiting[0]);
            async move { fixture.decide(question, json!({ "decision": decision })).await }
        }))
        .await;
        let first: Vec<_> = answers.iter().filter(|(_, answer)| answer["first"] == true).collect();
        assert_eq!(first.len(), 1, "{answers:?}");
        for (status, answer) in &answers {
            assert_eq!((*status, &answer["decision"]), (200, &first[0].1["decision"]), "all are told the same");
        }
        let call = &fixture.answered().await["tool_calls"][0];
        let allowed = first[0].1["decision"] != "deny";
        assert_eq!(call["outcome"], if allowed { "done" } else { "denied" });
        assert_eq!(fixture.server.calls().len(), usize::from(allowed));
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn the_question_of_another_person_is_not_there() {
    let fixture = Fixture::new(databases()[0], [call_of_send()]).await;
    let waiting = fixture.ask().await;
    let stranger = fixture.app.person().await;
    let own_chat = stranger.new_chat().await;
    for chat in [&fixture.chat, &own_chat] {
        let (status, answer) = stranger.decide(chat, &waiting[0]["approvalId"], &json!({ "decision": "once" })).await;
        assert_eq!(status, 404, "{answer}");
    }
    assert!(fixture.server.calls().is_empty());
    assert_eq!(stranger.get("/api/tools/audit").await["calls"], json!([]));
    let other = fixture.person.new_chat().await;
    let (status, _) = fixture.person.decide(&other, &waiting[0]["approvalId"], &json!({ "decision": "once" })).await;
    assert_eq!(status, 404, "nor in another chat of one's own");
}
