//! Files in requests to the OpenAI-compatible API.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use testkit::{Step, databases};

use super::fixture::{Fixture, PNG};
use super::messages::BLIND;

fn data(kind: &str, bytes: &[u8]) -> String {
    format!("data:{kind};base64,{}", STANDARD.encode(bytes))
}

/// Sends a text and a part to both endpoints.
async fn ask(fixture: &Fixture, chat: Value, response: Value) -> Vec<(u16, Value)> {
    let mut answers = Vec::new();
    let words = json!({ "type": "text", "text": "What is it?" });
    let messages = json!([{ "role": "user", "content": [words, chat] }]);
    let input = json!([{ "role": "user", "content": [{ "type": "input_text", "text": "What is it?" }, response] }]);
    for (path, body) in [
        ("/v1/chat/completions", json!({ "model": "openai/scripted", "messages": messages })),
        ("/v1/responses", json!({ "model": "openai/scripted", "input": input })),
    ] {
        let (status, answer) = fixture.person.post(path, &body).await;
        answers.push((status.as_u16(), answer));
    }
    answers
}

fn picture(url: &str) -> (Value, Value) {
    let chat = json!({ "type": "image_url", "image_url": { "url": url, "detail": "low" } });
    (chat, json!({ "type": "input_image", "image_url": url }))
}

fn document(name: &str, url: &str) -> (Value, Value) {
    let chat = json!({ "type": "file", "file": { "filename": name, "file_data": url } });
    (chat, json!({ "type": "input_file", "filename": name, "file_data": url }))
}

#[tokio::test]
async fn files_of_programs_reach_the_model_in_both_shapes() {
    for database in databases() {
        let fixture = Fixture::new(database).await;
        fixture.model.always(Step::Text("Seen.".into()));
        // The type that a client declares is ignored.
        for (chat, response) in
            [picture(&data("image/webp", PNG)), document("a.txt", &data("application/pdf", b"words"))]
        {
            for (status, answer) in ask(&fixture, chat, response).await {
                assert_eq!(status, 200, "{answer}");
                let (words, files) = fixture.read_last();
                assert!(words.contains("What is it?"), "{words}");
                assert_eq!(files.len(), usize::from(!words.contains("[a.txt]")), "{files:?}");
            }
        }
        assert!(fixture.read_last().0.contains("[a.txt]\nwords"), "a text is read as words");
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn what_cannot_be_asked_is_refused_with_its_reason() {
    for database in databases() {
        let folder = tempfile::TempDir::new().unwrap();
        let facts = folder.path().join("facts.json");
        std::fs::write(&facts, BLIND).unwrap();
        let blind = Fixture::with(database, &[("CHAT_MODEL_CATALOGUE", facts.to_str().unwrap())]).await;
        let fixture = Fixture::new(database).await;
        let large = data("image/png", &[PNG, vec![0; 14 * 1024 * 1024].as_slice()].concat());
        for (fixture, (chat, response), says) in [
            (&blind, picture(&data("image/png", PNG)), "takes no files of the kind image/png"),
            (&fixture, picture(&data("image/png", b"\0\x01")), "a file is a PNG"),
            (&fixture, picture("data:image/png;base64,?"), "not base64"),
            (&fixture, picture("ftp://a.example/a.png"), "begins with https://"),
            (&fixture, picture("http://10.0.0.1/a.png"), "the file's server"),
            (&fixture, picture(&large), "are larger than 14 MiB in total"),
            (&fixture, (json!({ "type": "input_audio" }), json!({ "type": "input_audio" })), "a piece is text"),
        ] {
            for (status, answer) in ask(fixture, chat, response).await {
                assert_eq!(status, 400, "{says}: {answer}");
                assert!(answer["error"]["message"].as_str().unwrap().contains(says), "{says}: {answer}");
                assert!(matches!(answer["error"]["param"].as_str(), Some("messages" | "input")), "{answer}");
            }
        }
        assert!(fixture.model.requests().is_empty() && blind.model.requests().is_empty());
        blind.app.stop().await;
        fixture.app.stop().await;
    }
}
