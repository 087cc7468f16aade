//! Questions of a server to the person, in the middle of a call.
//!
//! All eras ask the same things: a form to fill in, or a page to visit. Who can put them before a person implements
//! [`Asker`] and gives it to the call ([`CallOptions::asker`](crate::CallOptions::asker)).

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::Serialize;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::call::Suspended;
use crate::error::quote;

mod fill;
mod form;

pub use fill::Problem;
pub use form::{Choice, Field, Form, Kind};

/// Puts questions before a person.
pub trait Asker: Send + Sync + fmt::Debug {
    /// Asks and waits for the answer, however long that takes: the call's deadlines stand still meanwhile. The future
    /// is dropped when the call ends or the server withdraws the question.
    ///
    /// With `from`, the server waits for nothing: the call can be gone on with from there on another connection.
    /// Without, the question is lost with the connection, and so is the call.
    fn ask(&self, question: Question, from: Option<Arc<Suspended>>) -> BoxFuture<'_, Answer>;
}

/// What a server asks. Its words are its own: show them as text, and show whose they are.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "mode", rename_all = "lowercase")]
pub enum Question {
    /// Values to be filled in.
    Form(Form),
    /// A page to be visited, for what the client must not see.
    Url(Visit),
}

/// A page that the server wants to be visited. Never open or fetch it without the person's consent.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Visit {
    /// Why, in the server's words.
    pub message: String,
    /// The whole address; `http` or `https`, without user name or password.
    pub url: Url,
    /// Whether the host is written in Punycode, so that it may look like another.
    pub punycode: bool,
    /// Whether the call is made again after [`Answer::Accept`], so that the answer should wait until the person says
    /// that the visit is done. Otherwise the answer only means consent.
    pub makes_call_again: bool,
    /// Cancelled as soon as the server says that the visit has done its work; some servers do.
    #[serde(skip)]
    pub done: CancellationToken,
}

/// What the person said. The three mean different things to a server.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// Yes. For a form with what [`Form::fill`] made; for a visit with `Content::default()`.
    Accept(Content),
    /// No.
    Decline,
    /// No answer: it was closed.
    Cancel,
}

/// Checked values for a form.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Content(pub(crate) Map<String, Value>);

/// A question that cannot be put before a person.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("it asks something that cannot be shown: {0}")]
pub(crate) struct Unreadable(pub(crate) &'static str);

impl Question {
    /// Reads the parameters of an `elicitation/create` request of any revision.
    pub(crate) fn read(params: &Value) -> Result<Self, Unreadable> {
        match params.get("mode").and_then(Value::as_str) {
            None | Some("form") => form::read(params).map(Self::Form),
            Some("url") => Visit::read(params).map(Self::Url),
            Some(_) => Err(Unreadable("neither a form nor an address")),
        }
    }

    /// The id by which a server tells that a visit is done.
    pub(crate) fn id(params: &Value) -> Option<&str> {
        params.get("elicitationId").and_then(Value::as_str).filter(|id| !id.is_empty())
    }
}

impl Visit {
    pub(crate) fn read(params: &Value) -> Result<Self, Unreadable> {
        let url = params.get("url").and_then(Value::as_str).and_then(|url| Url::parse(url).ok());
        let url = url.ok_or(Unreadable("its address is none"))?;
        if !matches!(url.scheme(), "http" | "https") || !url.username().is_empty() || url.password().is_some() {
            return Err(Unreadable("its address is not of the web"));
        }
        let punycode = url.host_str().is_some_and(|host| host.split('.').any(|label| label.starts_with("xn--")));
        Ok(Self { message: message(params), url, punycode, makes_call_again: false, done: CancellationToken::new() })
    }
}

impl Answer {
    /// The result of the request on the wire. The content belongs to a form; a visit has none.
    pub(crate) fn to_result(&self, of_form: bool) -> Value {
        match self {
            Self::Accept(content) if of_form => serde_json::json!({ "action": "accept", "content": content.0 }),
            Self::Accept(_) => serde_json::json!({ "action": "accept" }),
            Self::Decline => serde_json::json!({ "action": "decline" }),
            Self::Cancel => serde_json::json!({ "action": "cancel" }),
        }
    }
}

fn message(params: &Value) -> String {
    params.get("message").and_then(Value::as_str).map(quote_long).unwrap_or_default()
}

/// Longer than an error and still short enough to be read before answering; line ends are kept.
fn quote_long(text: &str) -> String {
    text.lines().take(40).map(quote).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn visit(url: &str) -> Result<Visit, Unreadable> {
        Visit::read(&json!({ "mode": "url", "message": "Pay", "url": url, "elicitationId": "e" }))
    }

    #[test]
    fn only_pages_of_the_web_are_visited() {
        for url in ["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "https://a@b.example/", "no", ""] {
            assert!(visit(url).is_err(), "{url}");
        }
        assert!(!visit("https://pay.example/x?y=1").unwrap().punycode);
        assert!(visit("https://аpple.example/").unwrap().punycode, "a Cyrillic letter");
    }

    #[test]
    fn both_modes_are_read() {
        let form = Question::read(&json!({ "message": "Who?", "requestedSchema": { "type": "object" } })).unwrap();
        assert!(matches!(form, Question::Form(Form { fields, .. }) if fields.is_empty()));
        assert!(matches!(
            Question::read(&json!({ "mode": "url", "message": "a\u{1b}b\nc", "url": "https://a.example" })),
            Ok(Question::Url(Visit { message, .. })) if message == "a⟨U+001B⟩b\nc"
        ));
        assert!(Question::read(&json!({ "mode": "telepathy", "message": "x" })).is_err());
    }

    #[test]
    fn the_three_answers_are_three_things() {
        assert_eq!(Answer::Decline.to_result(true), json!({ "action": "decline" }));
        assert_eq!(Answer::Cancel.to_result(true), json!({ "action": "cancel" }));
        assert_eq!(Answer::Accept(Content::default()).to_result(true), json!({ "action": "accept", "content": {} }));
        assert_eq!(Answer::Accept(Content::default()).to_result(false), json!({ "action": "accept" }));
    }
}
