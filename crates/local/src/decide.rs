//! Whether a message is for a tool, and which tools come into question.

use domain::model::ToolSpec;
use serde_json::Value;

use crate::tokenizer::{Kind, Tokenizer};

/// What the model says of a message, as logarithms of likelihoods.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Signs {
    /// Of the likeliest tool.
    pub tool: f32,
    /// Of there being none.
    pub none: f32,
    /// Of the question being about the tools themselves.
    pub about: f32,
    /// How much likelier it is that something from outside is needed than that nothing is.
    pub need: f32,
    /// The person wrote a tool's name.
    pub is_named: bool,
}

/// What a message is answered with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// The call of a tool.
    Call,
    /// Words.
    Words,
    /// Words about the tools.
    AboutTools,
}

/// What the need of something from outside counts beside the table of tools. Found by trying with 183 messages and eight lists of
/// 14 tools, like the two limits.
const NEED: f32 = 2.0;

/// The least sum with which a tool is called.
const ENOUGH: f32 = 0.3;

/// The same where the person wrote the tool's name.
const ENOUGH_WHEN_NAMED: f32 = -6.0;

/// The lead over others of a tool that alone comes into question, and how many come into question at most.
const LEAD: f32 = 2.0;
pub(crate) const MOST_CANDIDATES: usize = 3;

/// How many are weighed for a message with an address of the web, among which tools that take one are preferred.
pub(crate) const MOST_FOR_ADDRESS: usize = 6;

impl Signs {
    /// What they speak for.
    pub(crate) fn way(self) -> Way {
        let without = (self.none.exp() + self.about.exp()).ln();
        let sum = self.tool - without + NEED * self.need;
        tracing::debug!(?self, sum, "a call or words");
        let enough = if self.is_named { ENOUGH_WHEN_NAMED } else { ENOUGH };
        match () {
            () if sum >= enough => Way::Call,
            () if self.about > self.none => Way::AboutTools,
            () => Way::Words,
        }
    }
}

/// What a tool gains that takes an address of the web, where the message has one.
const ADDRESS: f32 = 2.5;

/// Whether an address of the web stands in a text.
pub(crate) fn has_address(text: &str) -> bool {
    ["http://", "https://"].iter().any(|scheme| text.contains(scheme))
}

/// Puts tools that take an address of the web before others that are nearly as likely, for a message that has one.
pub(crate) fn prefer_addresses(ranked: &mut [(usize, f32)], takes_address: impl Fn(usize) -> bool) {
    for (index, likelihood) in &mut *ranked {
        if takes_address(*index) {
            *likelihood += ADDRESS;
        }
    }
    ranked.sort_by(|one, other| other.1.total_cmp(&one.1));
}

/// Whether a tool has an argument for an address of the web: by its name, or its format.
pub(crate) fn takes_address(tool: &ToolSpec) -> bool {
    let properties = tool.input_schema.get("properties").and_then(Value::as_object);
    properties.into_iter().flatten().any(|(name, schema)| {
        let name = name.to_ascii_lowercase();
        ["url", "uri", "href"].iter().any(|word| name.contains(word))
            || schema.get("format").is_some_and(|format| format == "uri")
    })
}

/// Of the ranked ones, those that are nearly as likely as the first.
pub(crate) fn candidates(ranked: &[(usize, f32)]) -> impl Iterator<Item = usize> {
    let first = ranked.first().map_or(f32::NEG_INFINITY, |(_, likelihood)| *likelihood);
    ranked.iter().filter(move |(_, likelihood)| first - likelihood < LEAD).map(|(index, _)| *index)
}

/// The lead over others of a tool that is sure to be meant, by a line for each.
const SURE: f32 = 1.0;

/// The first of the ranked ones, if it is sure.
pub(crate) fn sure(ranked: &[(usize, f32)]) -> Option<usize> {
    match ranked {
        [(index, likelihood), (_, next), ..] => (likelihood - next >= SURE).then_some(*index),
        [(index, _)] => Some(*index),
        [] => None,
    }
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

/// The places of the tools whose exact names stand in the message as words of their own. A name that was made unique by
/// a server's name and two underscores is also found by its last part.
pub(crate) fn named(message: &str, tools: &[ToolSpec]) -> Vec<usize> {
    let is_part = |character: char| character.is_alphanumeric() || matches!(character, '_' | '-');
    let words: Vec<&str> = message.split(|character| !is_part(character)).collect();
    let is_named = |tool: &ToolSpec| {
        let short = tool.name.rsplit_once("__").map_or(tool.name.as_str(), |(_, last)| last);
        words.iter().any(|word| *word == tool.name || *word == short)
    };
    tools.iter().enumerate().filter(|(_, tool)| is_named(tool)).map(|(index, _)| index).collect()
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
        named(message, &tools)
    }

    #[test]
    fn a_tool_is_named_by_its_whole_name() {
        assert_eq!(names("Use `get_time`, please"), [2]);
        assert_eq!(names("add-all of them"), [1]);
        assert_eq!(names("add 2 and 3 with add."), [0]);
        assert_eq!(names("search for it"), [3]);
        assert!(names("what is the address of get_time_zone?").is_empty());
    }

    #[test]
    fn a_tool_is_sure_that_leads_clearly() {
        assert_eq!(sure(&[(4, -0.5), (1, -1.6)]), Some(4));
        assert_eq!(sure(&[(4, -0.5), (1, -1.4)]), None);
        assert_eq!((sure(&[(2, -9.0)]), sure(&[])), (Some(2), None));
    }

    const PLAIN: Signs = Signs { tool: -3.0, none: -3.0, about: -9.0, need: 0.0, is_named: false };

    #[test]
    fn a_call_needs_a_likely_tool_or_a_need() {
        assert_eq!(PLAIN.way(), Way::Words);
        assert_eq!(Signs { need: 0.5, ..PLAIN }.way(), Way::Call);
        assert_eq!(Signs { need: -1.0, ..PLAIN }.way(), Way::Words);
        assert_eq!(Signs { need: -1.0, tool: -0.1, ..PLAIN }.way(), Way::Call);
        assert_eq!(Signs { none: -0.1, ..PLAIN }.way(), Way::Words);
        assert_eq!(Signs { none: -0.1, need: 2.5, ..PLAIN }.way(), Way::Call);
        assert_eq!(Signs { none: -0.1, is_named: true, ..PLAIN }.way(), Way::Call);
        assert_eq!(Signs { about: -0.1, need: -1.0, ..PLAIN }.way(), Way::AboutTools);
    }

    #[test]
    fn an_address_is_for_a_tool_that_takes_one() {
        let tool = |schema| ToolSpec { name: "a".to_owned(), description: String::new(), input_schema: schema };
        assert!(takes_address(&tool(json!({ "properties": { "pageUrl": { "type": "string" } } }))));
        assert!(takes_address(&tool(json!({ "properties": { "page": { "format": "uri" } } }))));
        assert!(!takes_address(&tool(json!({ "properties": { "path": { "type": "string" } } }))));
        assert!(!takes_address(&tool(json!(true))));
        assert!(has_address("What is on https://a.example?") && !has_address("What is on TV?"));
        let mut ranked = [(4, -0.5), (1, -1.5), (2, -7.0)];
        prefer_addresses(&mut ranked, |index| index != 4);
        assert_eq!(ranked.map(|(index, _)| index), [1, 4, 2], "one that hardly fits stays behind");
    }

    #[test]
    fn what_is_nearly_as_likely_comes_into_question_too() {
        let found: Vec<usize> = candidates(&[(4, -0.5), (1, -1.5), (2, -7.0)]).collect();
        assert_eq!(found, [4, 1]);
        assert_eq!(candidates(&[]).count(), 0);
    }
}
