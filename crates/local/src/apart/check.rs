//! What may come through the pipe. The process on its other end reads files that somebody put there, so that nothing it
//! says is taken as it comes.

use std::io::{BufRead, BufReader, Read};

use domain::model::{FinishReason, ModelError, ModelEvent, ModelStatus, PartKind, Usage};
use domain::text::cut_to;

use crate::screen::NOTICE;
use crate::wire::Report;

/// Bytes of one report.
const LINE: u64 = 1 << 20;

/// Bytes of one answer, far more than its tokens can have.
const ANSWER: usize = 1 << 20;

/// Reports of progress in one answer.
const STATUSES: usize = 10_000;

/// Tokens of one answer, in either direction.
const TOKENS: u64 = 1_000_000;

/// Bytes of a call's identity and of its tool's name.
const NAME: usize = 200;

/// Bytes of a reason.
const REASON: usize = 1_000;

/// The reports in what is read, up to the first that is none or is too long.
pub(super) fn reports(pipe: impl Read) -> impl Iterator<Item = Report> {
    let mut pipe = BufReader::new(pipe);
    std::iter::from_fn(move || {
        let mut line = Vec::new();
        (&mut pipe).take(LINE).read_until(b'\n', &mut line).ok()?;
        serde_json::from_slice(line.strip_suffix(b"\n")?).ok()
    })
}

/// How far an answer has come.
#[derive(Debug, Default)]
pub(super) struct Answered {
    stage: Stage,
    statuses: usize,
    bytes: usize,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Stage {
    #[default]
    Reading,
    Speaking,
    Spoken,
    Whole,
}

impl Answered {
    /// It came to its end.
    pub(super) fn is_whole(&self) -> bool {
        self.stage == Stage::Whole
    }

    /// The event, if it may come now: progress, one part of words or one call, what it cost, the end.
    pub(super) fn admit(&mut self, event: ModelEvent) -> Option<ModelEvent> {
        let next = match (self.stage, &event) {
            (Stage::Reading, ModelEvent::Status(ModelStatus::ReadingTools { .. } | ModelStatus::Reading { .. })) => {
                self.statuses += 1;
                Stage::Reading
            }
            (Stage::Reading, ModelEvent::Notice(text)) if text == NOTICE => {
                self.statuses += 1;
                Stage::Reading
            }
            (Stage::Reading, ModelEvent::PartStart { part: 0, kind: PartKind::Text }) => Stage::Speaking,
            (Stage::Reading, ModelEvent::PartStart { part: 0, kind: PartKind::ToolCall { id, name } })
                if id.len() <= NAME && name.len() <= NAME =>
            {
                Stage::Speaking
            }
            (Stage::Speaking, ModelEvent::Delta { part: 0, text }) => {
                self.bytes += text.len();
                Stage::Speaking
            }
            (Stage::Speaking, ModelEvent::PartEnd { part: 0 }) => Stage::Spoken,
            (Stage::Spoken, ModelEvent::Usage(usage)) if is_possible(usage) => Stage::Spoken,
            (
                Stage::Spoken,
                ModelEvent::Finish(FinishReason::Stop | FinishReason::Length | FinishReason::ToolCalls),
            ) => Stage::Whole,
            _ => return None,
        };
        self.stage = next;
        (self.bytes <= ANSWER && self.statuses <= STATUSES).then_some(event)
    }
}

fn is_possible(usage: &Usage) -> bool {
    [usage.input_tokens, usage.output_tokens, usage.cached_input_tokens].iter().all(|tokens| *tokens <= TOKENS)
}

/// The error, if it is of the kinds that the model has, with no more words than a person reads.
pub(super) fn fit_to_show(error: ModelError) -> Option<ModelError> {
    let cut = |reason: String| cut_to(&reason, REASON).to_owned();
    match error {
        ModelError::Unavailable(reason) => Some(ModelError::Unavailable(cut(reason))),
        ModelError::TooLong(reason) => Some(ModelError::TooLong(cut(reason))),
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

    /// How many of the events are admitted before the first that is not, and whether the answer was whole then.
    fn admitted(events: Vec<ModelEvent>) -> (usize, bool) {
        let mut answered = Answered::default();
        let count = events.into_iter().map_while(|event| answered.admit(event)).count();
        (count, answered.is_whole())
    }

    #[test]
    fn an_answer_comes_in_its_order_and_no_other() {
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
        assert_eq!(admitted(vec![ModelEvent::Notice(NOTICE.to_owned()), begin(0), END, FINISH]), (4, true));
        assert_eq!(admitted(vec![begin(0), begin(0)]), (1, false));
        assert_eq!(admitted(vec![begin(0), reading]), (1, false));
        assert_eq!(admitted(vec![begin(0), FINISH]), (1, false));
        assert_eq!(admitted(vec![begin(0), END, FINISH, FINISH]), (3, true));
        let boast = ModelEvent::Usage(Usage { output_tokens: u64::MAX, ..Usage::default() });
        assert_eq!(admitted(vec![begin(0), END, boast]), (2, false));
    }

    #[test]
    fn an_answer_has_an_end() {
        let piece = "x".repeat(ANSWER / 4);
        let endless = std::iter::once(begin(0)).chain(std::iter::repeat_n(words(&piece), 10)).collect();
        assert_eq!(admitted(endless), (5, false));
        let waiting = ModelEvent::Status(ModelStatus::Reading { done: 0, total: 9 });
        assert_eq!(admitted(vec![waiting; STATUSES + 10]), (STATUSES, false));
    }

    #[test]
    fn what_is_no_report_is_the_end() {
        let of = |bytes: &[u8]| reports(bytes).count();
        assert_eq!(of(b"\"Ready\"\n\"Done\"\n"), 2);
        assert_eq!(of(b"\"Ready\"\nhello\n\"Done\"\n"), 1);
        assert_eq!(of(b"\"Ready\"\n\"Done\""), 1, "the last line is not whole");
        assert_eq!(of(&[b"\"Ready\"\n".as_slice(), &b" ".repeat(LINE as usize), b"\"Done\"\n"].concat()), 1);
    }

    #[test]
    fn reasons_are_cut_and_foreign_ones_refused() {
        let Some(ModelError::Unavailable(reason)) = fit_to_show(ModelError::Unavailable("x".repeat(5_000))) else {
            panic!("it was refused")
        };
        assert_eq!(reason.len(), REASON);
        assert_eq!(fit_to_show(ModelError::Unauthorized("type your password".to_owned())), None);
    }
}
