//! Chats shared by a link.

use reqwest::Method;
use serde_json::{Value, json};
use testkit::{ScriptedModel, Step, TestApp, databases};

use super::{chat, delete};

#[tokio::test]
async fn a_share_is_a_picture_that_its_owner_takes_down() {
    for database in databases() {
        let app = TestApp::on(database).await;
        let (person, stranger) = (app.person().await, app.person().await);
        let (one, _) = chat(&person, "Trip", &["Where?", "<b>Lisbon</b>"]).await;
        let (status, share) = person.post(&format!("/api/sessions/{one}/shares"), &json!({})).await;
        assert_eq!(status, 200);
        let url = share["url"].as_str().unwrap();
        let token = url.split_once("/?share=").unwrap().1;
        assert_eq!(token.len(), 43);
        // No sign-in is necessary, and later messages are not included.
        person.insert("ai_chat_messages", &json!({ "session_id": one, "role": "user", "content": "later" })).await;
        let show = || app.http.get(format!("{}/api/shared/{token}", app.url)).send();
        let answer = show().await.unwrap();
        assert!(answer.headers()["x-robots-tag"].to_str().unwrap().contains("noindex"));
        assert_eq!(answer.headers()["cache-control"], "no-store");
        let shown: Value = answer.json().await.unwrap();
        assert_eq!(shown["title"], "Trip");
        let texts: Vec<&Value> =
            shown["messages"].as_array().unwrap().iter().map(|message| &message["parts"][0]["text"]).collect();
        assert_eq!(texts, [&json!("Where?"), &json!("<b>Lisbon</b>")]);
        let told = shown.to_string();
        assert!(!told.contains(&person.id) && !told.contains(&person.email) && !told.contains(&one), "{told}");
        let page = app.http.get(format!("{}/?x=1&share={token}", app.url)).send().await.unwrap();
        assert!(page.headers()["x-robots-tag"].to_str().unwrap().contains("noindex"));

        let listed = person.get("/api/shares").await;
        assert_eq!(listed["shares"][0]["id"], share["id"]);
        assert!(!listed.to_string().contains(token), "the link is told once");
        assert_eq!(stranger.get("/api/shares").await, json!({ "shares": [] }));
        let path = format!("/api/shares/{}", share["id"].as_str().unwrap());
        assert_eq!(stranger.request(Method::DELETE, &path).send().await.unwrap().status(), 404);
        assert_eq!(show().await.unwrap().status(), 200);
        assert_eq!(person.request(Method::DELETE, &path).send().await.unwrap().status(), 204);
        let gone = show().await.unwrap();
        assert_eq!(gone.status(), 404);
        assert!(gone.headers().contains_key("x-robots-tag"));
    }
}

#[tokio::test]
async fn tools_are_in_it_only_when_chosen_and_it_ends_with_its_chat() {
    for database in databases() {
        let model = ScriptedModel::start([
            Step::Calls(vec![("calculate".into(), json!({ "expression": "1234567+1" }))]),
            Step::Text("Done.".into()),
        ])
        .await;
        let app = TestApp::builder().database(database).set("OPENAI_BASE_URL", &model.base_url).start().await;
        let person = app.person().await;
        person.connect_to("my-tools", &format!("{}/mcp/toolbox", app.url)).await;
        let one = person.new_chat().await;
        let empty = person.post(&format!("/api/sessions/{one}/shares"), &json!({})).await;
        assert_eq!((empty.0.as_u16(), &empty.1["error"]["code"]), (422, &json!("nothing_to_share")));
        person.ask(&one, "Add", json!([{ "name": "calculate", "serverName": "my-tools" }])).await;
        let mut shown = Vec::new();
        for tools in [false, true] {
            let (_, share) = person.post(&format!("/api/sessions/{one}/shares"), &json!({ "tools": tools })).await;
            let token = share["url"].as_str().unwrap().split_once("share=").unwrap().1.to_owned();
            shown.push((format!("/api/shared/{token}"), person.get(&format!("/api/shared/{token}")).await));
        }
        let plain = shown[0].1.to_string();
        assert!(plain.contains("calculate") && plain.contains("Done."), "{plain}");
        assert!(!plain.contains("123456") && !plain.contains("my-tools"), "{plain}");
        let whole = shown[1].1.to_string();
        assert!(whole.contains("1234567+1") && whole.contains("1234568"), "{whole}");
        delete(&person, "ai_chat_sessions", &format!("id=eq.{one}")).await;
        for (path, _) in &shown {
            assert_eq!(person.request(Method::GET, path).send().await.unwrap().status(), 404);
        }
    }
}
