//! The conversation of a request, as both endpoints read it.

use std::collections::HashMap;

use domain::model::{ModelCall, ModelMessage, Request};

use super::files::{RequestFile, RequestFiles};
use super::refusal::OpenAiError;

/// A conversation while it is read, message by message.
pub struct Conversation {
    /// Field of the request that it is read from, for errors.
    field: &'static str,
    system: Vec<String>,
    messages: Vec<ModelMessage>,
    files: RequestFiles,
    /// Function of each call, by the call's id. Results name only the id, but some provider APIs need the function, too.
    called: HashMap<String, String>,
}

impl Conversation {
    /// Creates an empty conversation. `field` names the field of the request in errors.
    pub fn new(field: &'static str) -> Self {
        let (system, messages, called) = (Vec::new(), Vec::new(), HashMap::new());
        Self { field, system, messages, files: RequestFiles::default(), called }
    }

    /// Adds a system message. All of them are joined to one text, wherever they are.
    pub fn add_system_text(&mut self, text: String) {
        self.system.push(text);
    }

    /// Adds a message of the user.
    pub fn add_user_message(&mut self, text: String, files: Vec<RequestFile>) {
        self.files.add(self.messages.len(), files);
        self.messages.push(ModelMessage::user(text));
    }

    /// Adds a message of the model.
    pub fn add_answer(&mut self, text: String, calls: Vec<ModelCall>) {
        for call in &calls {
            self.called.insert(call.id.clone(), call.name.clone());
        }
        self.messages.push(ModelMessage::assistant(text, calls));
    }

    /// Adds output of the model to its last message, or as a new one after a message of another role.
    pub fn extend_answer(&mut self, more: String, call: Option<ModelCall>) {
        let Some(ModelMessage::Assistant { text, calls, .. }) = self.messages.last_mut() else {
            self.add_answer(more, call.into_iter().collect());
            return;
        };
        if !text.is_empty() && !more.is_empty() {
            text.push('\n');
        }
        text.push_str(&more);
        if let Some(call) = call {
            self.called.insert(call.id.clone(), call.name.clone());
            calls.push(call);
        }
    }

    /// Adds the result of a call.
    ///
    /// # Errors
    ///
    /// `unknown_call` if the model made no such call before.
    pub fn add_result(
        &mut self,
        call_id: Option<String>,
        text: String,
        files: Vec<RequestFile>,
        unknown_call: &'static str,
    ) -> Result<(), OpenAiError> {
        let call_id = call_id.unwrap_or_default();
        let name = self.called.get(&call_id).cloned().ok_or_else(|| OpenAiError::bad(self.field, unknown_call))?;
        self.files.add(self.messages.len(), files);
        self.messages.push(ModelMessage::ToolResult { call_id, name, text, is_error: false, files: Vec::new() });
        Ok(())
    }

    /// Returns a [`Request`] with the conversation, and its files.
    ///
    /// # Errors
    ///
    /// `unanswerable` if there is nothing for the model to respond to.
    pub fn into_request(self, unanswerable: &'static str) -> Result<(Request, RequestFiles), OpenAiError> {
        if !matches!(self.messages.last(), Some(ModelMessage::User { .. } | ModelMessage::ToolResult { .. })) {
            return Err(OpenAiError::bad(self.field, unanswerable));
        }
        let (system, messages) = (self.system.join("\n\n"), self.messages);
        Ok((Request { system, messages, ..Request::default() }, self.files))
    }
}
