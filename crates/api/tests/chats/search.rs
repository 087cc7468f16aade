//! Search in titles and messages.

use reqwest::Method;
use serde_json::{Value, json};
use testkit::{Person, TestApp, databases};

use super::{chat, delete};

async fn search(person: &Person, question: &str) -> Value {
    let request = person.request(Method::GET, "/api/search").query(&[("q", question)]);
    let answer = request.send().await.unwrap();
    assert_eq!(answer.status(), 200, "{question}");
    answer.json().await.unwrap()
}

/// Returns the highlighted words of the found messages, in order.
async fn hits(person: &Person, question: &str) -> Vec<String> {
    search(person, question).await["messages"].as_array().unwrap().iter().map(|hit| marked(&hit["excerpt"])).collect()
}

fn marked(excerpt: &Value) -> String {
    let units: Vec<u16> = excerpt["text"].as_str().unwrap().encode_utf16().collect();
    let mark = |mark: &Value| {
        let place = |index: usize| usize::try_from(mark[index].as_u64().unwrap()).unwrap();
        String::from_utf16(&units[place(0)..place(1)]).unwrap()
    };
    excerpt["marks"].as_array().unwrap().iter().map(mark).collect::<Vec<_>>().join("|")
}

#[tokio::test]
async fn words_phrases_and_beginnings_are_found_in_every_script() {
    for database in databases() {
        let app = TestApp::on(database).await;
        let person = app.person().await;
        let said = [
            "Which of my notes mention the Lisbon trip?",
            "Three notes mention **Lisbon**: the café, the Straße, 2026-11-21.",
            "明日は東京都へ行きます",
            "내일은 학교에서 만나요",
            "Ёлка растёт в лесу; שָׁלוֹם; हिन्दी में; ราคาเท่าไหร่",
        ];
        chat(&person, "Trip to Lisbon", &said).await;
        for (question, want) in [
            ("lis", vec!["Lisbon", "Lisbon"]),
            ("LISBON trip", vec!["Lisbon|trip"]),
            ("\"the lisbon trip\"", vec!["the Lisbon trip"]),
            ("\"trip lisbon\"", vec![]),
            ("sbon", vec![]),
            ("cafe strasse", vec!["café|Straße"]),
            ("2026-11", vec!["2026-11"]),
            ("東京", vec!["東京"]),
            ("都", vec!["都"]),
            ("行きます 明日", vec!["明日|行きます"]),
            ("학교", vec!["학교"]),
            ("елка", vec!["Ёлка"]),
            ("שלום", vec!["שָׁלוֹם"]),
            ("हिन्दी", vec!["हिन्दी"]),
            ("เท่า", vec!["เท่า"]),
        ] {
            assert_eq!(hits(&person, question).await, want, "{question} on {database:?}");
        }
        let found = search(&person, "lisbon").await;
        assert_eq!(marked(&found["chats"][0]["title"]), "Lisbon");
        assert_eq!(found["messages"][0]["role"], "assistant", "the newest first");
    }
}

#[tokio::test]
async fn the_index_follows_every_write() {
    for database in databases() {
        let app = TestApp::on(database).await;
        let person = app.person().await;
        let (first, ids) = chat(&person, "zebra", &["zebra one", "zebra two"]).await;
        let (second, _) = chat(&person, "other", &[]).await;
        assert_eq!(hits(&person, "zebra").await.len(), 2);
        let patch = async |path: String, body: Value| {
            let answer = person.request(Method::PATCH, &path).json(&body).send().await.unwrap();
            assert_eq!(answer.status(), 204, "{path}");
        };
        patch(format!("/rest/v1/ai_chat_messages?id=eq.{}", ids[0]), json!({ "content": "gnu one" })).await;
        patch(format!("/rest/v1/ai_chat_sessions?id=eq.{first}"), json!({ "title": "gnu" })).await;
        assert_eq!(hits(&person, "zebra").await, ["zebra"]);
        assert_eq!(hits(&person, "gnu").await, ["gnu"]);
        let found = search(&person, "gnu").await;
        assert_eq!((&found["chats"][0]["sessionId"], found["chats"].as_array().unwrap().len()), (&json!(first), 1));
        // Moves the message to another chat, and changes its id.
        let moved = domain::ids::fresh().to_string();
        patch(format!("/rest/v1/ai_chat_messages?id=eq.{}", ids[0]), json!({ "session_id": second, "id": moved }))
            .await;
        let found = search(&person, "gnu one").await;
        assert_eq!(found["messages"][0]["sessionId"], json!(second));
        assert_eq!(found["messages"][0]["messageId"], json!(moved));
        delete(&person, "ai_chat_messages", &format!("id=eq.{}", ids[1])).await;
        assert!(hits(&person, "zebra").await.is_empty());
        delete(&person, "ai_chat_sessions", &format!("id=eq.{second}")).await;
        assert_eq!(search(&person, "gnu one").await["messages"], json!([]));
        assert_eq!(app.state.storage.search().count_pending().await.unwrap(), 0);
    }
}

#[tokio::test]
async fn nobody_finds_what_is_not_theirs_and_no_question_is_dangerous() {
    for database in databases() {
        let app = TestApp::on(database).await;
        let (person, stranger) = (app.person().await, app.person().await);
        chat(&person, "secret plans", &["secret words"]).await;
        assert_eq!(hits(&person, "secret").await, ["secret"]);
        let found = search(&stranger, "secret").await;
        assert_eq!((&found["chats"], &found["messages"]), (&json!([]), &json!([])));
        let long = "secret ".repeat(28);
        for question in [
            "",
            " ",
            "\"",
            "\"\"",
            "'",
            "*",
            "secret*",
            "(secret",
            "secret)",
            "secret:*",
            "a & b | !c",
            "secret OR x",
            "NEAR(secret words)",
            "words:secret",
            "-secret",
            "\\",
            "%_",
            "'; DROP TABLE users; --",
            "\u{202e}secret",
            "🚲",
            "𝐬𝐞𝐜𝐫𝐞𝐭",
            "se\u{301}cret",
            long.trim(),
            "secret\" \"words",
            "<->",
            "secret <-> words",
            "\u{1}",
        ] {
            search(&person, question).await;
        }
        assert_eq!(hits(&person, "𝐬𝐞𝐜𝐫𝐞𝐭*)").await, ["secret"]);
        let answer = person.request(Method::GET, "/api/search").query(&[("q", "x".repeat(201))]).send().await.unwrap();
        assert_eq!(answer.status(), 400);
    }
}

#[tokio::test]
async fn many_hits_come_in_pages_the_newest_first() {
    for database in databases() {
        let app = TestApp::on(database).await;
        let person = app.person().await;
        let (chat, _) = chat(&person, "many", &[]).await;
        let rows: Vec<Value> = (0..75)
            .map(|n| json!({ "session_id": chat, "role": "user", "content": format!("ant hill {n} {}", if n % 5 == 0 { "hill ant" } else { "" }) }))
            .collect();
        let answer = person.request(Method::POST, "/rest/v1/ai_chat_messages").json(&rows).send().await.unwrap();
        assert_eq!(answer.status(), 201);
        let mut seen = Vec::new();
        let mut before: Option<String> = None;
        loop {
            let mut query = vec![("q", "ant".to_owned())];
            query.extend(before.clone().map(|before| ("before", before)));
            let answer = person.request(Method::GET, "/api/search").query(&query).send().await.unwrap();
            let found: Value = answer.json().await.unwrap();
            let texts = found["messages"].as_array().unwrap().iter().map(|hit| hit["excerpt"]["text"].to_string());
            seen.extend(texts);
            match found["next"].as_str() {
                Some(next) => before = Some(next.to_owned()),
                None => break,
            }
        }
        assert_eq!(seen.len(), 75);
        assert!(seen[0].contains("hill 74") && seen[74].contains("hill 0 "), "{} {}", seen[0], seen[74]);
        // All messages have both words, and few have the phrase.
        assert_eq!(hits(&person, "\"hill ant\"").await.len(), 15);
    }
}

#[tokio::test]
async fn a_rare_word_is_found_beside_common_ones_far_behind_the_newest_messages() {
    for database in databases() {
        let app = TestApp::on(database).await;
        let person = app.person().await;
        let (chat, _) = chat(&person, "many", &[]).await;
        for hundred in 0..6 {
            let content = |n: usize| match hundred * 100 + n {
                3 | 150 => format!("the walrus of the ant hill {n}"),
                4 => format!("a walrus without a hill {n}"),
                _ => format!("the ant hill {n}"),
            };
            let rows: Vec<Value> =
                (0..100).map(|n| json!({ "session_id": chat, "role": "user", "content": content(n) })).collect();
            let answer = person.request(Method::POST, "/rest/v1/ai_chat_messages").json(&rows).send().await.unwrap();
            assert_eq!(answer.status(), 201);
        }
        while app.state.storage.search().index_pending(None, 1_000).await.unwrap() > 0 {}
        for (question, want) in [
            ("walrus th", vec!["the|walrus|the", "the|walrus|the"]),
            ("th an wal", vec!["the|walrus|the|ant", "the|walrus|the|ant"]),
            ("\"walrus of the ant\"", vec!["walrus of the ant", "walrus of the ant"]),
            ("walrus", vec!["walrus", "walrus", "walrus"]),
            ("the gnu", vec![]),
        ] {
            assert_eq!(hits(&person, question).await, want, "{question} on {database:?}");
        }
        assert_eq!(hits(&person, "the ant").await.len(), 30, "{database:?}");
    }
}
