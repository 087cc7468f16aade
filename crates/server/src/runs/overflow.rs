//! A conversation that is longer than its model can read.

use domain::model::ModelMessage;
use domain::text::cut_to;

/// In the place of an earlier result.
const LEFT_OUT: &str = "[left out: the conversation is too long]";
/// Bytes that stay of a result of the turn that goes on.
const KEPT: usize = 1_000;
/// How often a request is shortened, at most: each time to three fifths, so that an eighth of it is left in the end.
pub const TRIES: usize = 4;

/// Leaves out the oldest tool results, then the oldest turns, and then shortens the results of the turn that goes on, until
/// two fifths are gone. Says what was left out, for the person; `None` when nothing can be.
pub fn shorten(messages: &mut Vec<ModelMessage>) -> Option<String> {
    let goal = messages.iter().map(ModelMessage::bytes).sum::<usize>() / 5 * 3;
    let mut left = messages.iter().map(ModelMessage::bytes).sum::<usize>();
    let now = messages.iter().rposition(|message| matches!(message, ModelMessage::User { .. }))?;

    let mut results = 0;
    for message in &mut messages[..now] {
        if let ModelMessage::ToolResult { text, .. } = message
            && left > goal
            && text.len() > LEFT_OUT.len()
        {
            left -= text.len() - LEFT_OUT.len();
            LEFT_OUT.clone_into(text);
            results += 1;
        }
    }

    let (mut gone, mut turns) = (0, 0);
    while left > goal && gone < now {
        let next = messages[gone + 1..].iter().position(|message| matches!(message, ModelMessage::User { .. }))?;
        left -= messages[gone..=gone + next].iter().map(ModelMessage::bytes).sum::<usize>();
        gone += next + 1;
        turns += 1;
    }
    messages.drain(..gone);

    for message in &mut messages[now - gone..] {
        if let ModelMessage::ToolResult { text, .. } = message
            && left > goal
            && text.len() > KEPT + LEFT_OUT.len()
        {
            let before = text.len();
            *text = format!("{}\n{LEFT_OUT}", cut_to(text, KEPT));
            left -= before - text.len();
            results += 1;
        }
    }

    let said = |count: usize, one: &str, many: &str| match count {
        0 => None,
        1 => Some(format!("1 {one}")),
        _ => Some(format!("{count} {many}")),
    };
    let parts = [
        said(results, "tool result was shortened", "tool results were shortened"),
        said(turns, "earlier message and its answer were left out", "earlier messages and their answers were left out"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format!("The chat is longer than this model can read: {}.", parts.join(", and ")))
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let said = shorten(&mut messages).unwrap();
        assert_eq!(said, "The chat is longer than this model can read: 1 tool result was shortened.");
        assert_eq!(
            messages.iter().map(ModelMessage::bytes).collect::<Vec<_>>(),
            [1, LEFT_OUT.len(), 100, 10, 1, 4_000]
        );
    }

    #[test]
    fn then_the_oldest_turns_and_never_the_question() {
        let mut messages = vec![user("a"), words(500), user("b"), words(500), user("c"), words(10), user("d")];
        let said = shorten(&mut messages).unwrap();
        assert!(said.ends_with("1 earlier message and its answer were left out."), "{said}");
        assert_eq!(messages, [user("b"), words(500), user("c"), words(10), user("d")]);
        while shorten(&mut messages).is_some() {}
        assert_eq!(messages.last(), Some(&user("d")));
        assert!(matches!(messages.first(), Some(ModelMessage::User { .. })));
    }

    #[test]
    fn then_the_results_of_this_turn() {
        let mut messages = vec![user("a"), result(9_000), result(9_000)];
        assert!(shorten(&mut messages).is_some());
        assert!(messages[1].bytes() < 2_000 && messages[2].bytes() == 9_000);
        assert!(shorten(&mut messages).is_some());
        assert!(messages[2].bytes() < 2_000);
    }

    #[test]
    fn a_question_that_is_too_long_alone_cannot_be_helped() {
        assert_eq!(shorten(&mut vec![user(&"x".repeat(200_000))]), None);
        assert_eq!(shorten(&mut Vec::new()), None);
    }
}
