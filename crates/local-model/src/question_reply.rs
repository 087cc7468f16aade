//! Reply of a user to a question that this program has asked about a request.

use domain::model::{ModelMessage, Request};

/// The last three messages of a conversation: a request, a text about it, and the user's next message.
#[derive(Debug)]
pub(crate) struct QuestionReply<'a> {
    request: &'a Request,
    /// Index of the first of the three messages.
    start: usize,
    /// The user's request.
    pub first: &'a str,
    /// Text of the assistant, perhaps a question.
    pub question: &'a str,
    /// The user's next message.
    pub reply: &'a str,
}

impl<'a> QuestionReply<'a> {
    /// Returns the last user message with the two before it, if these are a request and a text without tool calls.
    pub(crate) fn find(request: &'a Request) -> Option<Self> {
        let messages = &request.messages;
        let last = messages.iter().rposition(|message| matches!(message, ModelMessage::User { .. }))?;
        let start = last.checked_sub(2)?;
        match &messages[start..=last] {
            [
                ModelMessage::User { text: first, .. },
                ModelMessage::Assistant { text: question, calls, .. },
                ModelMessage::User { text: reply, .. },
            ] if calls.is_empty() => Some(Self { request, start, first, question, reply }),
            _ => None,
        }
    }

    /// Returns the request with one message in place of the three: the first one with another text.
    pub(crate) fn join(&self, joined_text: String) -> Request {
        let mut joined = self.request.clone();
        joined.messages.drain(self.start + 1..=self.start + 2);
        if let ModelMessage::User { text, .. } = &mut joined.messages[self.start] {
            *text = joined_text;
        }
        joined
    }
}
