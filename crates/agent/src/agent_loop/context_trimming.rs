//! Shortening of a conversation that exceeds its model's context.

use domain::model::ModelMessage;
use domain::text::cut_to;

use crate::files::model_attachments;

/// Text in place of an omitted tool result.
const OMITTED_RESULT: &str = "[left out: the conversation is too long]";
/// Number of bytes that are left of a tool result of the current turn.
const TRIMMED_RESULT_BYTES: usize = 1_000;
/// Maximum number of times that a request is shortened. Each leaves three fifths of it, so an eighth is left in the
/// end.
pub const MAX_TRIMS: usize = 4;

/// Shortens a conversation by two fifths, in this order: the oldest files, the oldest tool results, the oldest turns,
/// and at last the tool results of the current turn. The user's last message is never changed.
///
/// Returns a notice for the user that says what was left out, or `None` if nothing could be.
pub fn trim(messages: &mut Vec<ModelMessage>) -> Option<String> {
    let mut left = messages.iter().map(weight).sum::<usize>();
    let goal = left / 5 * 3;
    let now = messages.iter().rposition(|message| matches!(message, ModelMessage::User { .. }))?;

    let mut files = 0;
    for message in &mut messages[..now] {
        if left > goal {
            left -= model_attachments::weight_bytes(message.files());
            files += leave_out_files(message);
        }
    }

    let mut results = 0;
    for message in &mut messages[..now] {
        if let ModelMessage::ToolResult { text, .. } = message
            && left > goal
            && text.len() > OMITTED_RESULT.len()
        {
            left -= text.len() - OMITTED_RESULT.len();
            OMITTED_RESULT.clone_into(text);
            results += 1;
        }
    }

    let (mut gone, mut turns) = (0, 0);
    while left > goal && gone < now {
        let next = messages[gone + 1..].iter().position(|message| matches!(message, ModelMessage::User { .. }))?;
        left -= messages[gone..=gone + next].iter().map(weight).sum::<usize>();
        gone += next + 1;
        turns += 1;
    }
    messages.drain(..gone);

    for message in &mut messages[now - gone..] {
        if let ModelMessage::ToolResult { text, .. } = message
            && left > goal
            && text.len() > TRIMMED_RESULT_BYTES + OMITTED_RESULT.len()
        {
            let before = text.len();
            *text = format!("{}\n{OMITTED_RESULT}", cut_to(text, TRIMMED_RESULT_BYTES));
            left -= before - text.len();
            results += 1;
        }
    }

    let counted = |count: usize, one: &str, many: &str| match count {
        0 => None,
        1 => Some(format!("1 {one}")),
        _ => Some(format!("{count} {many}")),
    };
    let parts = [
        counted(files, "earlier file was left out", "earlier files were left out"),
        counted(results, "tool result was shortened", "tool results were shortened"),
        counted(
            turns,
            "earlier message and its answer were left out",
            "earlier messages and their answers were left out",
        ),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format!("The chat is longer than this model can read: {}.", parts.join(", and ")))
}

/// Returns the size of a message in bytes, with the weight of its files.
fn weight(message: &ModelMessage) -> usize {
    message.bytes() + model_attachments::weight_bytes(message.files())
}

/// Replaces the files of a message with a note. Returns their number.
fn leave_out_files(message: &mut ModelMessage) -> usize {
    let (ModelMessage::User { text, files }
    | ModelMessage::Assistant { text, files, .. }
    | ModelMessage::ToolResult { text, files, .. }) = message;
    let gone = std::mem::take(files);
    if !gone.is_empty() {
        text.push_str("\n\n[files left out: the conversation is too long]");
    }
    gone.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::model::ModelFile;

    #[test]
    fn the_oldest_pictures_go_before_all_words() {
        let with_picture = |text: &str| {
            let picture = ModelFile { name: None, media_type: "image/png".into(), bytes: vec![1].into() };
            ModelMessage::User { text: text.to_owned(), files: vec![picture] }
        };
        let mut messages = vec![with_picture("a"), words(10), with_picture("b"), words(10), with_picture("c")];
        let notice = trim(&mut messages).unwrap();
        assert_eq!(notice, "The chat is longer than this model can read: 2 earlier files were left out.");
        assert!(matches!(&messages[0], ModelMessage::User { text, .. } if text.starts_with("a\n\n[files left out")));
        assert_eq!((messages.len(), &messages[4]), (5, &with_picture("c")));
    }

    fn user(text: &str) -> ModelMessage {
        ModelMessage::user(text)
    }

    fn result(bytes: usize) -> ModelMessage {
        let (call_id, name) = ("c".to_owned(), "read".to_owned());
        ModelMessage::ToolResult { call_id, name, text: "r".repeat(bytes), is_error: false, files: Vec::new() }
    }

    fn words(bytes: usize) -> ModelMessage {
        ModelMessage::assistant("w".repeat(bytes), Vec::new())
    }

    #[test]
    fn the_oldest_results_go_first() {
        let mut messages = vec![user("a"), result(5_000), result(100), words(10), user("b"), result(4_000)];
        let notice = trim(&mut messages).unwrap();
        assert_eq!(notice, "The chat is longer than this model can read: 1 tool result was shortened.");
        assert_eq!(
            messages.iter().map(ModelMessage::bytes).collect::<Vec<_>>(),
            [1, OMITTED_RESULT.len(), 100, 10, 1, 4_000]
        );
    }

    #[test]
    fn then_the_oldest_turns_and_never_the_question() {
        let mut messages = vec![user("a"), words(500), user("b"), words(500), user("c"), words(10), user("d")];
        let notice = trim(&mut messages).unwrap();
        assert!(notice.ends_with("1 earlier message and its answer were left out."), "{notice}");
        assert_eq!(messages, [user("b"), words(500), user("c"), words(10), user("d")]);
        while trim(&mut messages).is_some() {}
        assert_eq!(messages.last(), Some(&user("d")));
        assert!(matches!(messages.first(), Some(ModelMessage::User { .. })));
    }

    #[test]
    fn then_the_results_of_this_turn() {
        let mut messages = vec![user("a"), result(9_000), result(9_000)];
        assert!(trim(&mut messages).is_some());
        assert!(messages[1].bytes() < 2_000 && messages[2].bytes() == 9_000);
        assert!(trim(&mut messages).is_some());
        assert!(messages[2].bytes() < 2_000);
    }

    #[test]
    fn a_question_that_is_too_long_alone_cannot_be_helped() {
        assert_eq!(trim(&mut vec![user(&"x".repeat(200_000))]), None);
        assert_eq!(trim(&mut Vec::new()), None);
    }
}
