//! Text of an answer of the OpenAI-compatible API, across all steps of the answer.

use domain::model::{Request, ResponseFormat};

use super::stop_filter::StopFilter;

/// Separates the texts of two steps.
const STEP_SEPARATOR: &str = "\n\n";

/// Text of an answer: cut at a stop text, with the texts of its steps apart.
///
/// Where the answer has a [`ResponseFormat`], only the text of the last step is sent: what a model writes beside tool
/// calls is not part of the JSON.
#[derive(Debug)]
pub struct AnswerText {
    filter: StopFilter,
    /// The text of this step, where only the last step's text is sent.
    withheld: Option<String>,
    has_text: bool,
    needs_separator: bool,
}

impl AnswerText {
    /// Creates the text of an answer to `request`.
    pub fn new(request: &Request) -> Self {
        let withheld = (request.response_format != ResponseFormat::Text).then(String::new);
        let filter = StopFilter::new(request.stop.clone());
        Self { filter, withheld, has_text: false, needs_separator: false }
    }

    /// Returns whether a stop sequence was found. Nothing follows it.
    pub fn is_stopped(&self) -> bool {
        self.filter.is_stopped()
    }

    /// Ends a step that another one follows, and returns its text that was held back. The text of the next step is set
    /// apart from what was sent before.
    pub fn end_step(&mut self) -> String {
        let text = self.flush();
        if let Some(withheld) = &mut self.withheld {
            withheld.clear();
        }
        self.needs_separator = self.has_text;
        text
    }

    /// Adds text of the model and returns what is to be sent now; may be empty.
    pub fn push(&mut self, text: &str) -> String {
        let text = if text.is_empty() || !std::mem::take(&mut self.needs_separator) {
            self.filter.push(text)
        } else {
            [self.filter.push(STEP_SEPARATOR), self.filter.push(text)].concat()
        };
        self.send(text)
    }

    /// Returns the text that was held back, as something else than text follows.
    pub fn flush(&mut self) -> String {
        let text = self.filter.flush();
        self.send(text)
    }

    /// Returns all text that was not sent; the answer is over.
    pub fn finish(&mut self) -> String {
        let rest = self.flush();
        self.withheld.take().unwrap_or(rest)
    }

    fn send(&mut self, text: String) -> String {
        if let Some(withheld) = &mut self.withheld {
            withheld.push_str(&text);
            return String::new();
        }
        self.has_text |= !text.is_empty();
        text
    }
}
