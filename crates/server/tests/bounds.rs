//! Concurrency limits and size limits, and the errors beyond them.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod clients;
mod people;
mod turns;

use reqwest::{Method, Response};
use serde_json::{Value, json};
use testkit::Person;

/// Returns code and message of a temporary error.
async fn refused(answer: Response, status: u16) -> (String, String) {
    let retry_after = answer.headers().get("retry-after").map(|seconds| seconds.to_str().unwrap().to_owned());
    assert_eq!((answer.status().as_u16(), retry_after.as_deref()), (status, Some("5")));
    let body: Value = answer.json().await.unwrap();
    // The error has the envelope of the functions, or that of the other routes.
    let (code, message) = match &body["error"] {
        Value::String(message) => (&body["code"], message.clone()),
        error => (&error["code"], error["message"].as_str().unwrap().to_owned()),
    };
    (code.as_str().unwrap().to_owned(), message)
}

/// Sends a message and returns the response.
async fn ask(person: &Person, chat: &str, message: &str) -> Response {
    let body = json!({ "message": message, "sessionId": chat });
    let request = person.request(Method::POST, "/functions/v1/ai-chat").header("accept", "text/event-stream");
    request.json(&body).send().await.unwrap()
}
