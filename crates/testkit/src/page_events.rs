//! The event stream of a user's open web app.

use reqwest::{Method, Response};
use serde_json::{Value, json};

use crate::Person;

/// A subscription to `/api/events` that is read event by event.
#[derive(Debug)]
pub struct PageEvents {
    stream: Response,
    unread: String,
}

impl PageEvents {
    /// Opens the stream of a user ([`Person`]).
    pub async fn open(person: &Person) -> Self {
        let stream = person.request(Method::GET, "/api/events").send().await.unwrap();
        assert!(stream.status().is_success(), "{}", stream.status());
        Self { stream, unread: String::new() }
    }

    /// Returns the next event for which `is_wanted` holds; `None` if the stream ends before.
    pub async fn find(&mut self, is_wanted: impl Fn(&Value) -> bool) -> Option<Value> {
        loop {
            while let Some((block, rest)) = self.unread.split_once("\n\n") {
                let data = block.lines().find_map(|line| line.strip_prefix("data: "));
                let event: Option<Value> = data.map(|data| serde_json::from_str(data).unwrap());
                // Copied, since the rest borrows from the text that it replaces.
                let rest = rest.to_owned();
                self.unread = rest;
                if let Some(event) = event.filter(&is_wanted) {
                    return Some(event);
                }
            }
            let piece = self.stream.chunk().await.unwrap()?;
            self.unread.push_str(std::str::from_utf8(&piece).unwrap());
        }
    }

    /// Returns the next state of the turn in a chat.
    pub async fn turn_state(&mut self, chat: &str) -> String {
        self.next_turn_event(chat).await["state"].as_str().unwrap().to_owned()
    }

    /// Returns the next event of the turn in a chat, whose state has to be `state`.
    pub async fn turn_event(&mut self, chat: &str, state: &str) -> Value {
        let event = self.next_turn_event(chat).await;
        assert_eq!(event["state"], state, "{event}");
        event
    }

    async fn next_turn_event(&mut self, chat: &str) -> Value {
        self.find(|event| event["type"] == "turn" && event["sessionId"] == json!(chat)).await.unwrap()
    }
}
