//! Roles of this binary in its other processes.

use std::time::Duration;

use axum::body::Body;
use axum::response::IntoResponse;
use testkit::{ScriptedModel, Step};

use crate::texts::{Chance, word};

/// Runs the model server. It prints its URL and then serves what each message requests.
pub async fn model() {
    let model = ScriptedModel::start([]).await;
    model.answer_by(|request| {
        let messages = request["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
        let results = messages.iter().rev().take_while(|message| message["role"] != "user").count();
        let questions = messages.iter().filter(|message| message["role"] == "user");
        answer(questions.filter_map(|message| message["content"].as_str()).next_back().unwrap_or_default(), results)
    });
    println!("{}", model.base_url);
    std::future::pending::<()>().await;
}

/// Parses a message to a [`Step`]: `words COUNT MILLISECONDS` for paced words, `hang COUNT` for words at once in a stream
/// that does not end, or `calls COUNT WORDS MILLISECONDS` for calls of the tool `look_up`, one after the other, and then a
/// paced text of so many words, or one word. `after` is the number of calls and results after the message.
fn answer(question: &str, after: usize) -> Step {
    let mut words = question.split(' ');
    let kind = words.next();
    let mut number = || words.next().and_then(|word| word.parse().ok()).unwrap_or_default();
    let count: u64 = number();
    match kind {
        Some("hang") => Step::Hang("word ".repeat(count as usize)),
        Some("calls") if after < count as usize * 2 => {
            // With another argument each time, because a repeated call would be taken for a loop.
            Step::Calls(vec![("look_up".to_owned(), serde_json::json!({ "number": after }))])
        }
        Some("calls") => match number() {
            0 => Step::Text("Done".to_owned()),
            // Of a new seed each time, because a database compresses what repeats.
            length => {
                let text = Chance::new(fastrand::u64(..)).words(length, word);
                Step::Slowly(text, Duration::from_millis(number()))
            }
        },
        _ => Step::Words { count: count as usize, pace: Duration::from_millis(number()) },
    }
}

/// Runs the relay, the least that anything between a web app and a model can do. It takes the model's requests.
pub async fn relay(model: String) {
    let http = testkit::http_client();
    let handler = move |body: axum::body::Bytes| {
        let request = http.post(format!("{model}/chat/completions")).body(body);
        async move {
            let answer = request.send().await.unwrap();
            let headers = [("content-type", "text/event-stream")];
            (headers, Body::from_stream(answer.bytes_stream())).into_response()
        }
    };
    let routes = axum::Router::new().route("/", axum::routing::post(handler));
    // The server's own listener, with the same queue.
    let listener = http_server::serve::listen(([127, 0, 0, 1], 0).into(), "CHAT_LISTEN").unwrap();
    println!("http://{}", listener.local_addr().unwrap());
    axum::serve(axum::serve::ListenerExt::tap_io(listener, |stream| drop(stream.set_nodelay(true))), routes)
        .await
        .unwrap();
}
