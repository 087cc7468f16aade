//! ChatML, written by hand.

use domain::model::ModelCall;
use domain::text::cut_to;
use serde_json::{Value, json};

use crate::prompt::EARLIER_TEXT;
use crate::tokenizer::Tokenizer;
use crate::tool_list::write_spaced;

/// Writes turns as tokens. Text between two marks is encoded in one piece, as in training.
pub(crate) struct Turns<'a> {
    tokenizer: &'a Tokenizer,
    tokens: Vec<u32>,
    text: String,
}

impl<'a> Turns<'a> {
    pub(crate) fn new(tokenizer: &'a Tokenizer) -> Self {
        Self { tokenizer, tokens: Vec::new(), text: String::new() }
    }

    pub(crate) fn open(&mut self, role: &str) {
        self.flush();
        self.tokens.push(self.tokenizer.turn_start());
        self.say(role);
        self.say("\n");
    }

    /// Words of anybody.
    pub(crate) fn say(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Words of our own, whose markers mean their tokens.
    pub(crate) fn mark(&mut self, text: &str) {
        self.flush();
        self.tokens.extend(self.tokenizer.encode_marked(text));
    }

    pub(crate) fn close(&mut self) {
        self.flush();
        self.tokens.push(self.tokenizer.turn_end());
        self.say("\n");
        self.flush();
    }

    pub(crate) fn turn(&mut self, role: &str, text: &str) {
        self.open(role);
        self.say(text);
        self.close();
    }

    /// A call that the model made.
    pub(crate) fn call(&mut self, call: &ModelCall) {
        let arguments = serde_json::from_str::<Value>(&call.arguments).unwrap_or_default();
        let mut text = String::new();
        write_spaced(&json!({ "name": call.name, "arguments": arguments }), &mut text);
        self.open("assistant");
        self.mark("<tool_call>\n");
        self.say(cut_to(&text, EARLIER_TEXT));
        self.mark("\n</tool_call>");
        self.close();
    }

    /// What a call returned.
    pub(crate) fn result(&mut self, result: &str) {
        self.turn("user", &format!("<tool_response>\n{result}\n</tool_response>"));
    }

    pub(crate) fn for_assistant(mut self) -> Vec<u32> {
        self.open("assistant");
        self.done()
    }

    pub(crate) fn done(mut self) -> Vec<u32> {
        self.flush();
        self.tokens
    }

    /// Lets a token end here, whatever follows.
    pub(crate) fn flush(&mut self) {
        if !self.text.is_empty() {
            self.tokens.extend(self.tokenizer.encode(&self.text));
            self.text.clear();
        }
    }
}
