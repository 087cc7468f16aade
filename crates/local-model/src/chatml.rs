//! Builder for ChatML prompts.

use domain::model::ModelCall;
use domain::text::cut_to;
use serde_json::{Value, json};

use crate::prompt::MAX_EARLIER_TEXT_BYTES;
use crate::tokenizer::Tokenizer;
use crate::tool_list::write_spaced;

/// Builder for the tokens of ChatML turns. Text between two control tokens is encoded in one piece, as in training.
pub(crate) struct ChatMlBuilder<'a> {
    tokenizer: &'a Tokenizer,
    tokens: Vec<u32>,
    text: String,
}

impl<'a> ChatMlBuilder<'a> {
    pub(crate) fn new(tokenizer: &'a Tokenizer) -> Self {
        Self { tokenizer, tokens: Vec::new(), text: String::new() }
    }

    /// Starts a turn.
    pub(crate) fn open_turn(&mut self, role: &str) {
        self.flush_text();
        self.tokens.push(self.tokenizer.turn_start());
        self.push_text(role);
        self.push_text("\n");
    }

    /// Appends untrusted text, in which control tokens have no effect.
    pub(crate) fn push_text(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Appends text of this program, in which markers become their tokens.
    pub(crate) fn push_marked(&mut self, text: &str) {
        self.flush_text();
        self.tokens.extend(self.tokenizer.encode_marked(text));
    }

    /// Ends the turn.
    pub(crate) fn close_turn(&mut self) {
        self.flush_text();
        self.tokens.push(self.tokenizer.turn_end());
        self.push_text("\n");
        self.flush_text();
    }

    /// Appends a whole turn.
    pub(crate) fn push_turn(&mut self, role: &str, text: &str) {
        self.open_turn(role);
        self.push_text(text);
        self.close_turn();
    }

    /// Appends a tool call of the model.
    pub(crate) fn push_call(&mut self, call: &ModelCall) {
        let arguments = serde_json::from_str::<Value>(&call.arguments).unwrap_or_default();
        let mut text = String::new();
        write_spaced(&json!({ "name": call.name, "arguments": arguments }), &mut text);
        self.open_turn("assistant");
        self.push_marked("<tool_call>\n");
        self.push_text(cut_to(&text, MAX_EARLIER_TEXT_BYTES));
        self.push_marked("\n</tool_call>");
        self.close_turn();
    }

    /// Appends the result of a tool call.
    pub(crate) fn push_result(&mut self, result: &str) {
        self.push_turn("user", &format!("<tool_response>\n{result}\n</tool_response>"));
    }

    /// Starts the turn that the model continues, and returns all tokens.
    pub(crate) fn open_assistant_turn(mut self) -> Vec<u32> {
        self.open_turn("assistant");
        self.into_tokens()
    }

    /// Returns all tokens.
    pub(crate) fn into_tokens(mut self) -> Vec<u32> {
        self.flush_text();
        self.tokens
    }

    /// Encodes the pending text, so that no token spans this position.
    pub(crate) fn flush_text(&mut self) {
        if !self.text.is_empty() {
            self.tokens.extend(self.tokenizer.encode(&self.text));
            self.text.clear();
        }
    }
}
