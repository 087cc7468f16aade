//! Whether to call a tool, and which tools come into question.

use domain::model::ToolSpec;

use crate::tokenizer::{Kind, Tokenizer};

/// What in a message speaks for a call; the weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Sign {
    /// Nothing.
    None,
    /// A path, a digit or an underscore: things that tools take and small talk lacks.
    Specific,
    /// A word of a tool's name.
    Hinted,
    /// A tool's whole name.
    Named,
}

impl Sign {
    /// The lead over words, in logits, that a call needs. Found by trying with lists of 3 and of 10 tools: the model
    /// answers small talk with calls where this is too low, and tells how one would call where it is too high.
    fn needed_lead(self) -> f32 {
        match self {
            Self::None => 0.25,
            Self::Specific => -1.0,
            Self::Hinted => -1.5,
            Self::Named => -2.0,
        }
    }

    /// The strongest sign in `message`.
    pub(crate) fn of(message: &str, tools: &[ToolSpec]) -> Self {
        if !named(message, tools).is_empty() {
            return Self::Named;
        }
        let message_words: Vec<String> = words(message).map(stem).collect();
        let is_hinted = |tool: &ToolSpec| {
            let mut parts = tool.name.split(['_', '-']).filter(|part| part.len() >= SHORTEST_HINT).map(stem);
            parts.any(|part| message_words.contains(&part))
        };
        if tools.iter().any(is_hinted) {
            return Self::Hinted;
        }
        let is_specific = |character: char| character.is_ascii_digit() || matches!(character, '_' | '/' | '\\');
        if message.contains(is_specific) { Self::Specific } else { Self::None }
    }
}

/// Letters of a part of a tool's name that counts as a hint: "file" does, "get" does not.
const SHORTEST_HINT: usize = 4;

/// A word in lower case, without the s of a plural.
fn stem(word: &str) -> String {
    let lower = word.to_lowercase();
    lower.strip_suffix('s').map_or(lower.clone(), str::to_owned)
}

fn words(message: &str) -> impl Iterator<Item = &str> {
    let is_part = |character: char| character.is_alphanumeric() || matches!(character, '_' | '-');
    message.split(move |character| !is_part(character)).filter(|word| !word.is_empty())
}

/// With a greater lead than this the model still thought of a call.
const UNSURE: f32 = -2.0;

/// The model's first step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// A call begins with this token.
    Call(u32),
    /// Words begin with this token.
    Words(u32),
    /// Words, but not here: so close to a call, they would be about the tools. They come better without any.
    WordsWithoutTools,
}

/// The tokens that words may begin with: pieces of text that are not blank and do not open a call.
pub(crate) fn openings_of_words(tokenizer: &Tokenizer) -> Vec<bool> {
    let opens = |(id, kind): (usize, &Kind)| {
        let bytes = tokenizer.bytes(id as u32);
        let blank = bytes.iter().all(u8::is_ascii_whitespace);
        *kind == Kind::Text && !blank && !matches!(bytes.first(), Some(b'<' | b'{' | b'`'))
    };
    tokenizer.kinds().iter().enumerate().map(opens).collect()
}

/// Chooses between the likeliest call and the likeliest words.
pub(crate) fn first_step(
    logits: &[f32],
    opens_call: impl Fn(u32) -> bool,
    opens_words: &[bool],
    sign: Sign,
) -> Option<Step> {
    let words = likeliest(logits, |token| opens_words.get(token as usize).copied().unwrap_or(false));
    let call = likeliest(logits, opens_call);
    match (call, words) {
        (Some(call), Some(words)) => {
            let lead = logits[call as usize] - logits[words as usize];
            tracing::debug!(lead, ?sign, "a call or words");
            let is_about_tools = sign >= Sign::Hinted;
            Some(match lead {
                _ if lead >= sign.needed_lead() => Step::Call(call),
                _ if lead > UNSURE && !is_about_tools => Step::WordsWithoutTools,
                _ => Step::Words(words),
            })
        }
        (Some(call), None) => Some(Step::Call(call)),
        (None, Some(words)) => Some(Step::Words(words)),
        (None, None) => None,
    }
}

/// The likeliest token of those that `allowed` allows.
pub(crate) fn likeliest(logits: &[f32], allowed: impl Fn(u32) -> bool) -> Option<u32> {
    let mut best: Option<(u32, f32)> = None;
    for (token, &logit) in logits.iter().enumerate() {
        let token = token as u32;
        if best.is_none_or(|(_, most)| logit > most) && allowed(token) {
            best = Some((token, logit));
        }
    }
    best.map(|(token, _)| token)
}

/// The tools whose exact names stand in the message as words of their own. A name that was made unique by a server's
/// name and two underscores is also found by its last part.
pub(crate) fn named<'a>(message: &str, tools: &'a [ToolSpec]) -> Vec<&'a ToolSpec> {
    let short = |name: &'a str| name.rsplit_once("__").map_or(name, |(_, last)| last);
    tools.iter().filter(|tool| words(message).any(|word| word == tool.name || word == short(&tool.name))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tool(name: &str) -> ToolSpec {
        ToolSpec { name: name.to_owned(), description: String::new(), input_schema: json!({}) }
    }

    fn names(message: &str) -> Vec<String> {
        let tools = ["add", "add-all", "get_time", "work__search"].map(tool);
        named(message, &tools).into_iter().map(|tool| tool.name.clone()).collect()
    }

    #[test]
    fn a_tool_is_named_by_its_whole_name() {
        assert_eq!(names("Use `get_time`, please"), ["get_time"]);
        assert_eq!(names("add-all of them"), ["add-all"]);
        assert_eq!(names("add 2 and 3 with add."), ["add"]);
        assert_eq!(names("search for it"), ["work__search"]);
        assert!(names("what is the address of get_time_zone?").is_empty());
    }

    #[test]
    fn the_strongest_sign_counts() {
        let tools = ["list_files", "get_time"].map(tool);
        for (message, sign) in [
            ("how are you?", Sign::None),
            ("get me some tea", Sign::None),
            ("what is in ~/notes?", Sign::Specific),
            ("Which FILE is the largest of 3?", Sign::Hinted),
            ("list_files in /tmp", Sign::Named),
        ] {
            assert_eq!(Sign::of(message, &tools), sign, "{message}");
        }
    }

    /// Token 0 opens a call, token 1 words, token 2 neither.
    fn step(call: f32, words: f32, sign: Sign) -> Option<Step> {
        first_step(&[call, words, 99.0], |token| token == 0, &[false, true, false], sign)
    }

    #[test]
    fn a_call_needs_a_lead_or_a_sign() {
        assert_eq!(step(1.2, 1.0, Sign::None), Some(Step::WordsWithoutTools));
        assert_eq!(step(-1.5, 1.0, Sign::None), Some(Step::Words(1)));
        assert_eq!(step(1.8, 1.0, Sign::None), Some(Step::Call(0)));
        assert_eq!(step(0.5, 1.0, Sign::Specific), Some(Step::Call(0)));
        assert_eq!(step(-0.5, 1.0, Sign::Specific), Some(Step::WordsWithoutTools));
        assert_eq!(step(-0.5, 1.0, Sign::Named), Some(Step::Call(0)));
        assert_eq!(step(-9.0, 1.0, Sign::Named), Some(Step::Words(1)));
    }
}
