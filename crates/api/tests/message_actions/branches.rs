//! Edited messages and alternative answers: the branches of a chat.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use testkit::{Person, Step, databases};

use super::{app_with, ids, said, says, steer};

async fn switch(person: &Person, chat: &str, to: &Value) -> (u16, Value) {
    let (status, answer) = person.post(&format!("/api/sessions/{chat}/branches"), &json!({ "messageId": to })).await;
    (status.as_u16(), answer)
}

/// Returns position and number of branches for each fork of the current branch.
async fn shown(person: &Person, chat: &str) -> Vec<(usize, usize)> {
    let forks = person.get(&format!("/api/sessions/{chat}/branches")).await;
    let place = |fork: &Value| {
        let branches = fork["branches"].as_array().unwrap();
        let at = branches.iter().position(|id| *id == fork["messageId"]).unwrap();
        (at + 1, branches.len())
    };
    forks["forks"].as_array().unwrap().iter().map(place).collect()
}

async fn text(person: &Person, method: Method, path: &str, body: String) -> String {
    person.request(method, path).body(body).send().await.unwrap().text().await.unwrap()
}

#[tokio::test]
async fn branches_are_kept_and_switched_and_clients_see_one_of_them() {
    for database in databases() {
        let steps = [says("Paris."), says("Rome."), says("Lyon."), says("Nice.")];
        let (app, model) = app_with(database, steps).await;
        let person = app.person().await;
        let chat = person.new_chat().await;
        person.ask(&chat, "Where in spring?", json!([])).await;
        person.ask(&chat, "And in summer?", json!([])).await;
        let first = ids(&person, &chat).await;
        assert_eq!(shown(&person, &chat).await, []);

        // An edited message; the model does not get what was replaced.
        let edit = json!({ "replaces": first[2], "message": "And in autumn?" });
        assert_eq!(steer(&person, &chat, edit).await.0, 200);
        assert_eq!(said(&person, &chat).await, ["Where in spring?", "Paris.", "And in autumn?", "Lyon."]);
        assert!(!model.requests()[2].to_string().contains("summer"));
        assert_eq!(shown(&person, &chat).await, [(2, 2)]);
        let second = ids(&person, &chat).await;

        // Another answer to the first message.
        assert_eq!(steer(&person, &chat, json!({ "replaces": first[1] })).await.0, 200);
        assert_eq!(said(&person, &chat).await, ["Where in spring?", "Nice."]);
        assert_eq!(shown(&person, &chat).await, [(2, 2)]);

        // Back to the branch seen last there, and from there to the first one.
        assert_eq!(switch(&person, &chat, &first[1]).await, (200, json!({ "switched": true })));
        assert_eq!(ids(&person, &chat).await, second);
        assert_eq!(shown(&person, &chat).await, [(1, 2), (2, 2)]);
        assert_eq!(switch(&person, &chat, &first[3]).await.1["switched"], true);
        assert_eq!(ids(&person, &chat).await, first);
        assert_eq!(switch(&person, &chat, &first[0]).await.1["switched"], false);
        assert_eq!(switch(&person, &chat, &json!(chat)).await.0, 404);

        let path = format!("/rest/v1/ai_chat_messages?id=eq.{}", second[3].as_str().unwrap());
        assert_eq!(person.get(&path).await, json!([]), "what is aside is not in the list");
        let stranger = app.person().await;
        assert_eq!(switch(&stranger, &chat, &second[3]).await.0, 404);
    }
}

#[tokio::test]
async fn no_branch_is_lost_on_the_way_out_in_back_or_in_a_search() {
    for database in databases() {
        let (app, _model) = app_with(database, [says("Paris."), says("Nice."), says("Lyon.")]).await;
        let person = app.person().await;
        let chat = person.new_chat().await;
        person.ask(&chat, "Where?", json!([])).await;
        let first = ids(&person, &chat).await;
        steer(&person, &chat, json!({ "replaces": first[1] })).await;
        steer(&person, &chat, json!({ "replaces": first[0], "message": "Where then?" })).await;
        assert_eq!(said(&person, &chat).await, ["Where then?", "Lyon."]);
        let hits = person.get("/api/search?q=paris").await;
        assert_eq!(hits["messages"][0]["messageId"], first[1], "what is aside is found");

        let everything = text(&person, Method::GET, "/api/account/export", String::new()).await;
        let delete = format!("/rest/v1/ai_chat_sessions?id=eq.{chat}");
        assert_eq!(text(&person, Method::DELETE, &delete, String::new()).await, "");
        assert_eq!(text(&person, Method::POST, &format!("/api/sessions/{chat}/restore"), String::new()).await, "");
        assert_eq!(shown(&person, &chat).await, [(2, 2)]);
        text(&person, Method::DELETE, &delete, String::new()).await;
        let counts = text(&person, Method::POST, "/api/account/import", everything.clone()).await;
        let counts: Value = serde_json::from_str(&counts).unwrap();
        assert_eq!(counts, json!({ "imported": 1, "skipped": 0, "messages": 5 }));
        let again = text(&person, Method::GET, "/api/account/export", String::new()).await;
        let chats = |file: &str| file.split_once("\"chats\"").unwrap().1.to_owned();
        assert_eq!(chats(&again), chats(&everything));
        assert_eq!(switch(&person, &chat, &first[1]).await.0, 200);
        assert_eq!(said(&person, &chat).await, ["Where?", "Paris."]);
        assert_eq!(shown(&person, &chat).await, [(1, 2), (1, 2)]);

        // The ids belong to another user; the tree is imported all the same.
        let stranger = app.person().await;
        text(&stranger, Method::POST, "/api/account/import", everything).await;
        let theirs = stranger.get("/rest/v1/ai_chat_sessions?select=id").await[0]["id"].as_str().unwrap().to_owned();
        let hits = stranger.get("/api/search?q=nice").await;
        assert_eq!(switch(&stranger, &theirs, &hits["messages"][0]["messageId"]).await.0, 200);
        assert_eq!(said(&stranger, &theirs).await, ["Where?", "Nice."]);
        assert_eq!(shown(&stranger, &theirs).await, [(1, 2), (2, 2)]);
    }
}

#[tokio::test]
async fn branches_stay_where_they_are_while_an_answer_is_written() {
    for database in databases() {
        let (app, _model) = app_with(database, [says("One."), says("Two."), Step::Hang("Three".into())]).await;
        let person = app.person().await;
        let chat = person.new_chat().await;
        person.ask(&chat, "Count", json!([])).await;
        let first = ids(&person, &chat).await;
        steer(&person, &chat, json!({ "replaces": first[1] })).await;
        let mut stream = person.ask_streaming(&chat, "More", json!([])).await;
        stream.chunk().await.unwrap().unwrap();
        let (status, answer) = switch(&person, &chat, &first[1]).await;
        assert_eq!((status, &answer["error"]["code"]), (409, &json!("turn_active")), "{answer}");
        assert_eq!(steer(&person, &chat, json!({ "replaces": first[0], "message": "x" })).await.0, 409);
        person.post(&format!("/api/sessions/{chat}/stop"), &json!({})).await;
        while stream.chunk().await.unwrap().is_some() {}
        while switch(&person, &chat, &first[1]).await.0 == 409 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(said(&person, &chat).await, ["Count", "One."]);
    }
}
