//! Decision whether a message needs a tool, and which tools are candidates.

use domain::model::ToolSpec;
use serde_json::Value;

use crate::tokenizer::{TokenType, Tokenizer};

/// Scores of a message, as log-probabilities.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DecisionScores {
    /// Score of the most likely tool.
    pub tool: f32,
    /// Score of no tool.
    pub none: f32,
    /// Score of a question about the tools themselves.
    pub about: f32,
    /// Log-odds that something from outside the conversation is needed.
    pub need: f32,
}

/// Kind of response to a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResponseKind {
    /// A tool call.
    ToolCall,
    /// The question whether a tool is meant.
    Question,
    /// Text.
    Text,
    /// Text about the available tools.
    AboutTools,
    /// Text to a message that needs something that no tool does; see [`DecisionScores::response_kind_without_tools`].
    NoSuitableTool,
}

/// Weight of [`DecisionScores::need`] relative to the tool scores. Tuned with 183 messages and eight lists of 14
/// tools, like the two minimum scores. Without the need, six of 221 development decisions would be wrong that are right, five
/// of them calls for messages that need none.
const NEED_WEIGHT: f32 = 2.0;

/// Minimum score for a tool call.
const MIN_CALL_SCORE: f32 = 0.3;

/// Range below the minimum score in which the user is asked whether a tool is meant: for one of 221 development decisions, to
/// which text would be the wrong answer.
const UNSURE_RANGE: f32 = 1.5;

/// Minimum lead of a tool over the answers without one, for a call and for that question. Of the development messages that
/// need a tool, all have 1.0 or more; "Do I have new emails?" without a tool for emails has -1.9.
const MIN_LEAD: f32 = 0.5;

/// Minimum [need](DecisionScores::need) for that question, and for one whether a missing tool is needed.
const MIN_UNSURE_NEED: f32 = -1.0;

/// Minimum score of a tool that is not there for the answer that no tool does it. Of 44 first messages, the 20 that ask for
/// something from outside have 3.8 or more, the 24 others 1.7 or less; of 82 messages after others, 20 of the 24 that do
/// have 3.0 or more, the 58 others less.
const MIN_MISSING_TOOL_SCORE: f32 = 3.0;

/// Minimum lead of a question about the tools over the answer without one.
const MIN_ABOUT_LEAD: f32 = 0.5;

/// Lead in log-probability with which the first tool is the only candidate.
const CANDIDATE_MARGIN: f32 = 2.0;

/// Maximum number of candidate tools.
pub(crate) const MAX_CANDIDATES: usize = 3;

/// Maximum number of tools that are scored for a message with a URL, before those that accept one are preferred.
pub(crate) const MAX_SCORED_FOR_URL: usize = 6;

impl DecisionScores {
    /// Returns the lead of the most likely tool over both answers without one.
    fn tool_lead(self) -> f32 {
        self.tool - (self.none.exp() + self.about.exp()).ln()
    }

    /// Returns the score of the most likely tool.
    fn sum(self) -> f32 {
        self.tool_lead() + NEED_WEIGHT * self.need
    }

    /// Returns the kind of response that the scores suggest.
    pub(crate) fn response_kind(self) -> ResponseKind {
        let (lead, sum) = (self.tool_lead(), self.sum());
        tracing::debug!(?self, sum, "decided between a tool call and text");
        let is_unsure = sum >= MIN_CALL_SCORE - UNSURE_RANGE && lead >= MIN_LEAD && self.need >= MIN_UNSURE_NEED;
        match () {
            () if sum >= MIN_CALL_SCORE && lead >= MIN_LEAD => ResponseKind::ToolCall,
            () if is_unsure => ResponseKind::Question,
            () if self.about - self.none >= MIN_ABOUT_LEAD => ResponseKind::AboutTools,
            () => ResponseKind::Text,
        }
    }

    /// Returns whether a message that is for no connected tool may need one that is missing.
    pub(crate) fn may_need_missing_tool(self) -> bool {
        self.need >= MIN_UNSURE_NEED
    }

    /// Returns the kind of response when there is no tool for the message, by the scores of [`missing_tools`](crate::missing_tools).
    /// `is_dispensable` is true if the model can do without the most likely one.
    pub(crate) fn response_kind_without_tools(self, is_dispensable: bool) -> ResponseKind {
        let sum = self.sum();
        tracing::debug!(?self, sum, "decided without tools");
        let is_missing = sum >= MIN_MISSING_TOOL_SCORE && !is_dispensable;
        if is_missing { ResponseKind::NoSuitableTool } else { ResponseKind::Text }
    }
}

/// Score bonus of a tool that accepts a URL, for a message with one.
const URL_BONUS: f32 = 2.5;

/// Returns whether a text contains a web URL.
pub(crate) fn contains_url(text: &str) -> bool {
    ["http://", "https://"].iter().any(|scheme| text.contains(scheme))
}

/// Moves tools that accept a URL before others that are nearly as likely, for a message with a URL.
fn prefer_url_tools(ranked: &mut [(usize, f32)], accepts_url: impl Fn(usize) -> bool) {
    for (index, likelihood) in &mut *ranked {
        if accepts_url(*index) {
            *likelihood += URL_BONUS;
        }
    }
    ranked.sort_by(|one, other| other.1.total_cmp(&one.1));
}

/// Returns the first ranked tools; for a message with a URL, tools that accept one are preferred; at most
/// [`MAX_CANDIDATES`].
pub(crate) fn top_candidates(
    mut ranked: Vec<(usize, f32)>,
    has_url: bool,
    accepts_url: impl Fn(usize) -> bool,
) -> Vec<(usize, f32)> {
    if has_url {
        prefer_url_tools(&mut ranked, accepts_url);
    }
    ranked.truncate(MAX_CANDIDATES);
    ranked
}

/// Returns whether a tool has an argument for a URL.
pub(crate) fn accepts_url(tool: &ToolSpec) -> bool {
    let properties = tool.input_schema.get("properties").and_then(Value::as_object);
    properties.into_iter().flatten().any(|(name, schema)| is_url_argument(name, schema))
}

/// Returns whether an argument is for a URL, by its name or its format.
pub(crate) fn is_url_argument(name: &str, schema: &Value) -> bool {
    let name = name.to_ascii_lowercase();
    ["url", "uri", "href"].iter().any(|word| name.contains(word))
        || schema.get("format").is_some_and(|format| format == "uri")
}

/// Returns the ranked tools that are nearly as likely as the first, with their log-probabilities.
pub(crate) fn candidates(ranked: &[(usize, f32)]) -> impl Iterator<Item = (usize, f32)> {
    let first = ranked.first().map_or(f32::NEG_INFINITY, |(_, likelihood)| *likelihood);
    ranked.iter().filter(move |(_, likelihood)| first - likelihood < CANDIDATE_MARGIN).copied()
}

/// Lead of a tool, in the sum of both log-probabilities, with which it is selected. Otherwise the user is asked.
const SELECTION_MARGIN: f32 = 1.0;

/// Returns the first ranked tool, if it leads clearly.
pub(crate) fn clear_winner(ranked: &[(usize, f32)]) -> Option<usize> {
    match ranked {
        [(index, likelihood), (_, next), ..] => (likelihood - next >= SELECTION_MARGIN).then_some(*index),
        [(index, _)] => Some(*index),
        [] => None,
    }
}

/// Returns for each token whether a text may begin with it: not with blanks, and not with the start of a call.
pub(crate) fn text_openings(tokenizer: &Tokenizer) -> Vec<bool> {
    let opens = |(id, kind): (usize, &TokenType)| {
        let bytes = tokenizer.bytes(id as u32);
        let blank = bytes.iter().all(u8::is_ascii_whitespace);
        *kind == TokenType::Text && !blank && !matches!(bytes.first(), Some(b'<' | b'{' | b'`'))
    };
    tokenizer.kinds().iter().enumerate().map(opens).collect()
}

/// Returns the most likely of the tokens that are `allowed`.
pub(crate) fn most_likely_token(logits: &[f32], allowed: impl Fn(u32) -> bool) -> Option<u32> {
    let mut best: Option<(u32, f32)> = None;
    for (token, &logit) in logits.iter().enumerate() {
        let token = token as u32;
        // The cheap comparison first: `allowed` is asked for the few tokens that would win, not for all 150,000.
        if best.is_none_or(|(_, max)| logit > max) && allowed(token) {
            best = Some((token, logit));
        }
    }
    best.map(|(token, _)| token)
}

/// Returns the indexes of the tools whose exact names are words of the message. A name with a server prefix and two
/// underscores is also found by its last part.
pub(crate) fn find_named_tools(message: &str, tools: &[ToolSpec]) -> Vec<usize> {
    let words = name_words(message);
    tools.iter().enumerate().filter(|(_, tool)| is_named(tool, &words)).map(|(index, _)| index).collect()
}

/// Returns the words of a message that can be names of tools.
pub(crate) fn name_words(message: &str) -> Vec<&str> {
    message.split(|character: char| !character.is_alphanumeric() && !matches!(character, '_' | '-')).collect()
}

/// Returns whether a tool's name is among the words of a message, see [`find_named_tools`].
pub(crate) fn is_named(tool: &ToolSpec, words: &[&str]) -> bool {
    let short = tool.name.rsplit_once("__").map_or(tool.name.as_str(), |(_, last)| last);
    words.iter().any(|word| *word == tool.name || *word == short)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn names(message: &str) -> Vec<usize> {
        let tools = ["add", "add-all", "get_time", "work__search"].map(|name| ToolSpec {
            name: name.to_owned(),
            description: String::new(),
            input_schema: json!({}),
        });
        find_named_tools(message, &tools)
    }

    #[test]
    fn finds_tools_by_whole_name() {
        assert_eq!(names("Use `get_time`, please"), [2]);
        assert_eq!(names("add-all of them"), [1]);
        assert_eq!(names("add 2 and 3 with add."), [0]);
        assert_eq!(names("search for it"), [3]);
        assert!(names("what is the address of get_time_zone?").is_empty());
    }

    #[test]
    fn clear_winner_needs_a_margin() {
        assert_eq!(clear_winner(&[(4, -0.5), (1, -1.6)]), Some(4));
        assert_eq!(clear_winner(&[(4, -0.5), (1, -1.4)]), None);
        assert_eq!((clear_winner(&[(2, -9.0)]), clear_winner(&[])), (Some(2), None));
    }

    const PLAIN: DecisionScores = DecisionScores { tool: -3.0, none: -3.0, about: -9.0, need: 0.0 };

    #[test]
    fn call_needs_likely_tool() {
        assert_eq!(PLAIN.response_kind(), ResponseKind::Text);
        assert_eq!(DecisionScores { need: 0.5, ..PLAIN }.response_kind(), ResponseKind::Text);
        assert_eq!(DecisionScores { need: 0.0, tool: -2.0, ..PLAIN }.response_kind(), ResponseKind::ToolCall);
        assert_eq!(DecisionScores { need: -1.0, ..PLAIN }.response_kind(), ResponseKind::Text);
        assert_eq!(DecisionScores { need: -1.0, tool: -0.1, ..PLAIN }.response_kind(), ResponseKind::ToolCall);
        assert_eq!(DecisionScores { none: -0.1, ..PLAIN }.response_kind(), ResponseKind::Text);
        assert_eq!(DecisionScores { none: -0.1, need: 2.5, ..PLAIN }.response_kind(), ResponseKind::Text);
        assert_eq!(DecisionScores { about: -0.1, need: -1.0, ..PLAIN }.response_kind(), ResponseKind::AboutTools);
    }

    #[test]
    fn missing_tool_is_a_likely_one_that_is_needed() {
        let missing = DecisionScores { tool: -0.1, need: 0.5, ..PLAIN };
        assert_eq!(missing.response_kind_without_tools(false), ResponseKind::NoSuitableTool);
        assert_eq!(missing.response_kind_without_tools(true), ResponseKind::Text);
        assert_eq!(DecisionScores { need: -2.0, ..missing }.response_kind_without_tools(false), ResponseKind::Text);
    }

    #[test]
    fn asks_when_a_likely_tool_just_misses_the_minimum() {
        let unsure = DecisionScores { tool: -0.9, need: -1.0, ..PLAIN };
        assert_eq!(unsure.response_kind(), ResponseKind::Question);
        assert_eq!(DecisionScores { tool: -2.6, ..unsure }.response_kind(), ResponseKind::Text);
        assert_eq!(DecisionScores { need: -1.1, ..unsure }.response_kind(), ResponseKind::Text);
        assert_eq!(DecisionScores { none: -1.0, need: 0.0, ..unsure }.response_kind(), ResponseKind::Text);
        assert_eq!(DecisionScores { tool: -0.6, ..unsure }.response_kind(), ResponseKind::ToolCall);
    }

    #[test]
    fn prefers_tools_that_accept_a_url() {
        let tool = |schema| ToolSpec { name: "a".to_owned(), description: String::new(), input_schema: schema };
        assert!(accepts_url(&tool(json!({ "properties": { "pageUrl": { "type": "string" } } }))));
        assert!(accepts_url(&tool(json!({ "properties": { "page": { "format": "uri" } } }))));
        assert!(!accepts_url(&tool(json!({ "properties": { "path": { "type": "string" } } }))));
        assert!(!accepts_url(&tool(json!(true))));
        assert!(contains_url("What is on https://a.example?") && !contains_url("What is on TV?"));
        let mut ranked = [(4, -0.5), (1, -1.5), (2, -7.0)];
        prefer_url_tools(&mut ranked, |index| index != 4);
        assert_eq!(ranked.map(|(index, _)| index), [1, 4, 2], "one that hardly fits stays behind");
    }

    #[test]
    fn candidates_include_nearly_as_likely_tools() {
        let found: Vec<_> = candidates(&[(4, -0.5), (1, -1.5), (2, -7.0)]).collect();
        assert_eq!(found, [(4, -0.5), (1, -1.5)]);
        assert_eq!(candidates(&[]).count(), 0);
    }
}
