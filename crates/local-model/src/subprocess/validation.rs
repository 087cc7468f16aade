//! Validation of the subprocess's responses. It parses weight files of unknown origin, so its output is not trusted.

use std::io::{BufRead, BufReader, Read};

use domain::model::{FinishReason, ModelError, ModelEvent, ModelStatus, PartKind, Usage};
use domain::text::cut_to;

use crate::choice_question::MAX_REPLY_OPTIONS;
use crate::injection_filter::REMOVAL_NOTICE;
use crate::ipc::IpcResponse;

/// Maximum size of one response line in bytes.
const MAX_LINE_BYTES: u64 = 1 << 20;

/// Maximum size of one response text in bytes, far more than its tokens can have.
const MAX_TEXT_BYTES: usize = 1 << 20;

/// Maximum number of progress reports in one response.
const MAX_STATUSES: usize = 10_000;

/// Maximum number of tokens in each field of a usage.
const MAX_USAGE_TOKENS: u64 = 1_000_000;

/// Maximum length of a call id and of a tool name in bytes.
const MAX_NAME_BYTES: usize = 200;

/// Maximum length of an error message in bytes.
const MAX_ERROR_BYTES: usize = 1_000;

/// Reads responses from a pipe, up to the first line that is invalid or too long.
pub(super) fn read_responses(pipe: impl Read) -> impl Iterator<Item = IpcResponse> {
    let mut pipe = BufReader::new(pipe);
    std::iter::from_fn(move || {
        let mut line = Vec::new();
        (&mut pipe).take(MAX_LINE_BYTES).read_until(b'\n', &mut line).ok()?;
        // A line without its end was cut, by the limit or by the end of the process.
        serde_json::from_slice(line.strip_suffix(b"\n")?).ok()
    })
}

/// Validator for the order and size of a response's events.
#[derive(Debug, Default)]
pub(super) struct ResponseValidator {
    stage: Stage,
    statuses: usize,
    bytes: usize,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Stage {
    #[default]
    ReadingPrompt,
    InPart,
    AfterPart,
    Complete,
}

impl ResponseValidator {
    /// Returns whether the response is complete.
    pub(super) fn is_complete(&self) -> bool {
        self.stage == Stage::Complete
    }

    /// Returns the event if it is valid now. The order is: progress, one part with text or a call, usage, finish.
    pub(super) fn accept(&mut self, event: ModelEvent) -> Option<ModelEvent> {
        let next = match (self.stage, &event) {
            (
                Stage::ReadingPrompt,
                ModelEvent::Status(ModelStatus::ReadingTools { .. } | ModelStatus::Reading { .. }),
            ) => {
                self.statuses += 1;
                Stage::ReadingPrompt
            }
            // The text is shown to users, so only the known one passes.
            (Stage::ReadingPrompt, ModelEvent::Notice(text)) if text == REMOVAL_NOTICE => {
                self.statuses += 1;
                Stage::ReadingPrompt
            }
            (Stage::ReadingPrompt, ModelEvent::PartStart { part: 0, kind: PartKind::Text }) => Stage::InPart,
            (Stage::ReadingPrompt, ModelEvent::PartStart { part: 0, kind: PartKind::ToolCall { id, name } })
                if id.len() <= MAX_NAME_BYTES && name.len() <= MAX_NAME_BYTES =>
            {
                Stage::InPart
            }
            (Stage::InPart, ModelEvent::Delta { part: 0, text }) => {
                self.bytes += text.len();
                Stage::InPart
            }
            (Stage::InPart, ModelEvent::PartEnd { part: 0 }) => Stage::AfterPart,
            (Stage::AfterPart, ModelEvent::ReplyOptions(options)) if are_plausible(options) => Stage::AfterPart,
            (Stage::AfterPart, ModelEvent::Usage(usage)) if is_plausible(usage) => Stage::AfterPart,
            (
                Stage::AfterPart,
                ModelEvent::Finish(FinishReason::Stop | FinishReason::Length | FinishReason::ToolCalls),
            ) => Stage::Complete,
            _ => return None,
        };
        self.stage = next;
        (self.bytes <= MAX_TEXT_BYTES && self.statuses <= MAX_STATUSES).then_some(event)
    }
}

fn are_plausible(options: &[String]) -> bool {
    options.len() <= MAX_REPLY_OPTIONS && options.iter().all(|option| option.len() <= MAX_NAME_BYTES)
}

fn is_plausible(usage: &Usage) -> bool {
    [usage.input_tokens, usage.output_tokens, usage.cached_input_tokens]
        .iter()
        .all(|tokens| *tokens <= MAX_USAGE_TOKENS)
}

/// Returns the error with a message of limited length; `None` for kinds of errors that the model never has.
pub(super) fn sanitize_error(error: ModelError) -> Option<ModelError> {
    let cut = |reason: String| cut_to(&reason, MAX_ERROR_BYTES).to_owned();
    match error {
        ModelError::Unavailable(reason) => Some(ModelError::Unavailable(cut(reason))),
        ModelError::ContextOverflow(reason) => Some(ModelError::ContextOverflow(cut(reason))),
        ModelError::Refused(reason) => Some(ModelError::Refused(cut(reason))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> ModelEvent {
        ModelEvent::Delta { part: 0, text: text.to_owned() }
    }

    fn begin(part: u32) -> ModelEvent {
        ModelEvent::PartStart { part, kind: PartKind::Text }
    }

    const END: ModelEvent = ModelEvent::PartEnd { part: 0 };
    const FINISH: ModelEvent = ModelEvent::Finish(FinishReason::Stop);

    /// Returns the number of accepted events before the first invalid one, and whether the response was complete then.
    fn admitted(events: Vec<ModelEvent>) -> (usize, bool) {
        let mut validator = ResponseValidator::default();
        let count = events.into_iter().map_while(|event| validator.accept(event)).count();
        (count, validator.is_complete())
    }

    #[test]
    fn accepts_events_only_in_order() {
        let reading = ModelEvent::Status(ModelStatus::Reading { done: 0, total: 9 });
        let usage = ModelEvent::Usage(Usage { input_tokens: 9, ..Usage::default() });
        assert_eq!(admitted(vec![reading.clone(), begin(0), words("a"), END, usage.clone(), FINISH]), (6, true));
        for events in [
            vec![words("a")],
            vec![END],
            vec![FINISH],
            vec![begin(1)],
            vec![ModelEvent::Status(ModelStatus::Queued { ahead: 1 })],
            vec![ModelEvent::Notice("Send me your key.".to_owned())],
            vec![ModelEvent::PartStart { part: 0, kind: PartKind::Reasoning }],
        ] {
            assert_eq!(admitted(events.clone()), (0, false), "{events:?}");
        }
        assert_eq!(admitted(vec![ModelEvent::Notice(REMOVAL_NOTICE.to_owned()), begin(0), END, FINISH]), (4, true));
        assert_eq!(admitted(vec![begin(0), begin(0)]), (1, false));
        assert_eq!(admitted(vec![begin(0), reading]), (1, false));
        assert_eq!(admitted(vec![begin(0), FINISH]), (1, false));
        assert_eq!(admitted(vec![begin(0), END, FINISH, FINISH]), (3, true));
        let boast = ModelEvent::Usage(Usage { output_tokens: u64::MAX, ..Usage::default() });
        assert_eq!(admitted(vec![begin(0), END, boast]), (2, false));
    }

    #[test]
    fn rejects_endless_response() {
        let piece = "x".repeat(MAX_TEXT_BYTES / 4);
        let endless = std::iter::once(begin(0)).chain(std::iter::repeat_n(words(&piece), 10)).collect();
        assert_eq!(admitted(endless), (5, false));
        let waiting = ModelEvent::Status(ModelStatus::Reading { done: 0, total: 9 });
        assert_eq!(admitted(vec![waiting; MAX_STATUSES + 10]), (MAX_STATUSES, false));
    }

    #[test]
    fn stops_at_invalid_response() {
        let of = |bytes: &[u8]| read_responses(bytes).count();
        assert_eq!(of(b"\"Ready\"\n\"Done\"\n"), 2);
        assert_eq!(of(b"\"Ready\"\nhello\n\"Done\"\n"), 1);
        assert_eq!(of(b"\"Ready\"\n\"Done\""), 1, "the last line is not whole");
        assert_eq!(of(&[b"\"Ready\"\n".as_slice(), &b" ".repeat(MAX_LINE_BYTES as usize), b"\"Done\"\n"].concat()), 1);
    }

    #[test]
    fn truncates_errors_and_rejects_foreign_kinds() {
        let Some(ModelError::Unavailable(reason)) = sanitize_error(ModelError::Unavailable("x".repeat(5_000))) else {
            panic!("it was refused")
        };
        assert_eq!(reason.len(), MAX_ERROR_BYTES);
        assert_eq!(sanitize_error(ModelError::Unauthorized("type your password".to_owned())), None);
    }
}
