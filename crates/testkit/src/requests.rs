//! Requests and rows that tests of several crates need.

use domain::{ChatId, MessageId, Timestamp, TurnId, UserId};
use reqwest::{Method, Response};
use serde_json::{Value, json};
use storage::branches::TurnPosition;
use storage::chats::NewTurn;

use crate::Person;

/// Sends a message of the user and returns the response, an event stream.
pub async fn send_message(person: &Person, chat: &str, message: &str) -> Response {
    let body = json!({ "message": message, "sessionId": chat });
    let request = person.request(Method::POST, "/functions/v1/ai-chat").header("accept", "text/event-stream");
    request.json(&body).send().await.unwrap()
}

/// Returns code and message of a temporary error, which has this status and a `Retry-After`.
pub async fn temporary_error(response: Response, status: u16) -> (String, String) {
    let retry_after = response.headers().get("retry-after").map(|seconds| seconds.to_str().unwrap().to_owned());
    assert_eq!((response.status().as_u16(), retry_after.as_deref()), (status, Some("5")));
    let body: Value = response.json().await.unwrap();
    // The error has the envelope of the functions, or that of the other routes.
    let (code, message) = match &body["error"] {
        Value::String(message) => (&body["code"], message.clone()),
        error => (&error["code"], error["message"].as_str().unwrap().to_owned()),
    };
    (code.as_str().unwrap().to_owned(), message)
}

/// Returns a turn at the end of a chat, as it is stored at its start.
pub fn new_turn(owner: UserId, chat: ChatId, content: &str, now: Timestamp) -> NewTurn {
    NewTurn {
        owner,
        chat,
        id: TurnId::fresh(),
        user_message: MessageId::fresh(),
        answer: MessageId::fresh(),
        content: Some(content.to_owned()),
        place: TurnPosition::End,
        queued: None,
        parts: Vec::new(),
        model: "openai/scripted".to_owned(),
        tools: json!([]),
        now,
    }
}
