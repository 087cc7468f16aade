//! Decision for another tool call after one has run: a request may take several steps, such as a search and then a
//! use of what it found.

use std::fmt::{Display, Write as _};

use domain::model::ModelCall;
use domain::text::{cut_to, ends};
use serde_json::Value;

use crate::chatml::ChatMlBuilder;
use crate::few_shot;
use crate::prompt::UserRequest;
use crate::prompt_prefix::PromptTokens;
use crate::tokenizer::Tokenizer;
use crate::tool_call::ParsedCall;

/// Maximum number of tool calls per message.
pub(crate) const MAX_CALLS_PER_MESSAGE: usize = 3;

/// Scores of the question whether a request needs another step after its first one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NextStepScores {
    /// Log-odds that the request takes several steps.
    pub several: f32,
    /// Log-odds that another tool is needed after the steps so far.
    pub needed: f32,
}

/// Minimum of [`NextStepScores::several`] for a second step.
const MIN_SEVERAL_STEPS_SCORE: f32 = -1.5;

/// Minimum sum of both scores for the question which tool does the rest. The lead of a tool can make up for the rest.
const MIN_SUM_FOR_CHOICE: f32 = -2.0;

/// Weight of the lead of the best tool over none.
const LEAD_WEIGHT: f32 = 0.3;

/// Minimum for a second step: the sum of both scores and the weighted lead. Fitted with the 30 development questions that
/// need a second tool and 15 that do not, of which none came above -1.7.
const MIN_SECOND_STEP_SCORE: f32 = -1.2;

/// Minimum of [`NextStepScores::needed`] for a third step, for which the other scores are no evidence.
const MIN_THIRD_STEP_SCORE: f32 = 0.1;

/// Number of bytes kept of each end of a result.
const RESULT_END_BYTES: usize = 150;

/// Maximum number of bytes of a call's arguments.
const MAX_ARGUMENTS_BYTES: usize = 200;

/// A request, its steps with the result of each, and whether another step is needed.
type Example = (&'static str, &'static [(&'static str, &'static str)], bool);

/// Few-shot examples. They need not resemble real requests, as long as each kind is present.
const FEW_SHOT_EXAMPLES: [Example; 26] = [
    ("What is the weather in Oslo?", &[(r#"weather({"city":"Oslo"})"#, "4 °C, rain")], false),
    (
        "Find report.odt in /data/eva and tell me what it says",
        &[(r#"find_files({"name":"report.odt"})"#, "/data/eva/letters/report.odt")],
        true,
    ),
    ("Send 'On my way' to Tom", &[(r#"send_message({"to":"Tom","text":"On my way"})"#, "Sent")], false),
    ("Make a folder photos and put a.png into it", &[(r#"make_folder({"name":"photos"})"#, "Created")], true),
    (
        "Who wrote the last message in general?",
        &[(r#"read_channel({"channel":"general"})"#, "Mia: hi\nLeo: bye")],
        false,
    ),
    (
        "Open https://b.example/index and then the first link on it",
        &[(r#"open_page({"address":"https://b.example/index"})"#, "Links: https://b.example/news")],
        true,
    ),
    (
        "Open https://d.example and then the page that it names",
        &[
            (r#"open_page({"address":"https://d.example"})"#, "See https://d.example/more"),
            (r#"open_page({"address":"https://d.example/more"})"#, "Opening hours: 9 to 5"),
        ],
        false,
    ),
    ("Delete /tmp/old.txt", &[(r#"delete({"path":"/tmp/old.txt"})"#, "Deleted")], false),
    (
        "Look up who ordered 512 and send her the bill",
        &[(r#"get_order({"number":512})"#, "customer: ida@shop.example\ntotal: 30")],
        true,
    ),
    ("What does /etc/hosts say?", &[(r#"read({"path":"/etc/hosts"})"#, "127.0.0.1 localhost")], false),
    (
        "Look up who ordered 77 and send her the bill",
        &[
            (r#"get_order({"number":77})"#, "customer: eva@shop.example\ntotal: 12"),
            (r#"send_bill({"to":"eva@shop.example","total":12})"#, "The bill was sent"),
        ],
        false,
    ),
    ("How warm is it in Rome, and what is that in Fahrenheit?", &[(r#"weather({"city":"Rome"})"#, "21 °C")], true),
    (
        "Turn on the lamp and the heating",
        &[(r#"set_devices({"on":["lamp","heating"]})"#, "lamp: on\nheating: on")],
        false,
    ),
    ("Which of my lists is for shopping? Show it.", &[("get_lists({})", "1 Work\n2 Groceries")], true),
    (
        "Which of my lists is for holidays? Show it.",
        &[("get_lists({})", "1 Work\n2 Beach"), (r#"show_list({"number":2})"#, "hat\nsun cream")],
        false,
    ),
    ("Wie spät ist es in Wien?", &[(r#"get_time({"zone":"Europe/Vienna"})"#, "18:20")], false),
    (
        "Check account 7 and tell me whether it is above 100",
        &[(r#"get_balance({"account":7})"#, "balance: 230.50")],
        false,
    ),
    (
        "Lies die Adresse in /tmp/url.txt und öffne sie",
        &[(r#"read({"path":"/tmp/url.txt"})"#, "https://c.example/start")],
        true,
    ),
    (
        "Find every zip file in /data/eva",
        &[(r#"find_files({"name":"*.zip"})"#, "/data/eva/a.zip\n/data/eva/b.zip")],
        false,
    ),
    (
        "Turn the text on https://e.example into German",
        &[(r#"open_page({"address":"https://e.example"})"#, "The shop is open on Sundays.")],
        false,
    ),
    ("Copy the number in order 9 into the field phone", &[(r#"get_order({"number":9})"#, "phone: 5512")], true),
    (
        "Show the folder music and say which song is the longest",
        &[(r#"list_songs({"folder":"music"})"#, "Sun 3:10\nRain 4:02")],
        false,
    ),
    ("Save the file and name it draft", &[(r#"save({"name":"draft"})"#, "saved as draft")], false),
    ("List the branches and remove the one for tests", &[("branches({})", "main\nfeature\ntests")], true),
    (
        "Add milk to the list and then show it",
        &[(r#"add({"item":"milk"})"#, "Added"), ("show_list({})", "bread\nmilk")],
        false,
    ),
    ("How many days are in May, June and July?", &[(r#"count_days({"months":[5,6,7]})"#, "92")], false),
];

impl NextStepScores {
    /// Returns whether a request may need a second step, before [`Self::needed`] is known.
    pub(crate) fn may_take_several_steps(several: f32) -> bool {
        several >= MIN_SEVERAL_STEPS_SCORE
    }

    /// Returns whether another tool may be needed after a number of steps, before the tools are ranked.
    pub(crate) fn may_need_next_step(self, steps: usize) -> bool {
        if steps == 1 { self.several + self.needed >= MIN_SUM_FOR_CHOICE } else { self.needed >= MIN_THIRD_STEP_SCORE }
    }

    /// Returns whether another tool is needed after a number of steps, with the lead of the best tool over none.
    pub(crate) fn needs_next_step(self, lead: f32, steps: usize) -> bool {
        tracing::debug!(?self, lead, steps, "decided whether another tool is needed");
        let sum = self.several + self.needed + LEAD_WEIGHT * lead;
        self.may_need_next_step(steps) && (steps > 1 || sum >= MIN_SECOND_STEP_SCORE)
    }
}

/// Returns whether the model repeats an earlier call, which would be a loop.
pub(crate) fn is_repeated_call(made: &ModelCall, written: &ParsedCall) -> bool {
    // Compared as values: spaces and the order of fields do not make another call.
    let arguments = |text: &str| serde_json::from_str::<Value>(text).ok();
    made.name == written.name && arguments(&made.arguments) == arguments(&written.arguments)
}

/// Returns the prefix of prompts that ask whether a request takes several steps.
pub(crate) fn several_steps_prefix(tokenizer: &Tokenizer) -> Vec<u32> {
    let mut turns = ChatMlBuilder::new(tokenizer);
    turns.push_turn(
        "system",
        "A tool does one thing. Does the request need two different steps, one after the other, as looking something up \
         and then using what was found? Answer yes or no.",
    );
    for (request, steps, is_needed) in FEW_SHOT_EXAMPLES {
        turns.push_turn("user", &format!("Request: {request}"));
        turns.push_turn("assistant", yes_or_no(is_needed || steps.len() > 1));
    }
    turns.into_tokens()
}

/// Builds the prompt that asks whether a request takes several steps.
pub(crate) fn several_steps_prompt(tokenizer: &Tokenizer, question: &UserRequest<'_>) -> PromptTokens {
    let mut tail = ChatMlBuilder::new(tokenizer);
    tail.push_turn("user", &format!("Request: {}", question.shortened_message()));
    PromptTokens { head: several_steps_prefix(tokenizer), tail: tail.open_assistant_turn() }
}

/// Returns the prefix of prompts that ask whether another tool is needed.
pub(crate) fn next_tool_prefix(tokenizer: &Tokenizer) -> Vec<u32> {
    let mut turns = ChatMlBuilder::new(tokenizer);
    turns.push_turn(
        "system",
        "A tool was run for a request. Is another tool needed before everything that was asked for is done, or is it all \
         done with this result? Answer yes when another one is needed, else no.",
    );
    for (request, steps, is_needed) in FEW_SHOT_EXAMPLES {
        turns.push_turn("user", &format_steps(request, steps.iter().copied()));
        turns.push_turn("assistant", yes_or_no(is_needed));
    }
    turns.into_tokens()
}

fn yes_or_no(is_yes: bool) -> &'static str {
    few_shot::YES_OR_NO[usize::from(!is_yes)]
}

/// Formats a request with its steps.
fn format_steps(request: &str, steps: impl Iterator<Item = (impl Display, impl Display)>) -> String {
    let mut text = format!("Request: {request}");
    for (done, result) in steps {
        // Writing to a string cannot fail.
        let _ = write!(text, "\nDone: {done}\nResult: {result}");
    }
    text
}

/// Builds the prompt that asks whether another tool is needed after `steps`: calls with their results.
pub(crate) fn next_tool_prompt(
    tokenizer: &Tokenizer,
    question: &UserRequest<'_>,
    steps: &[(&ModelCall, &str)],
) -> PromptTokens {
    let mut tail = ChatMlBuilder::new(tokenizer);
    let steps = steps.iter().map(|(call, result)| {
        (format!("{}({})", call.name, cut_to(&call.arguments, MAX_ARGUMENTS_BYTES)), ends(result, RESULT_END_BYTES))
    });
    tail.push_turn("user", &format_steps(&question.shortened_message(), steps));
    PromptTokens { head: next_tool_prefix(tokenizer), tail: tail.open_assistant_turn() }
}

/// Builds the prompt that asks which tool does the rest. The model continues it as that of [`few_shot::choice_prompt`].
pub(crate) fn choice_prompt(
    tokenizer: &Tokenizer,
    question: &UserRequest<'_>,
    steps: &[(&ModelCall, &str)],
) -> PromptTokens {
    let mut tail = ChatMlBuilder::new(tokenizer);
    let mut request = format!("Request: {}\n(", question.shortened_message());
    for (call, result) in steps {
        let (arguments, result) = (cut_to(&call.arguments, MAX_ARGUMENTS_BYTES), ends(result, RESULT_END_BYTES));
        // Writing to a string cannot fail.
        let _ = writeln!(request, "{}({arguments}) has been done. Its result: {result}", call.name);
    }
    request.push_str("Which tool does the rest of the request? If nothing is left: none)");
    tail.push_turn("user", &request);
    let mut tail = tail.open_assistant_turn();
    tail.extend(tokenizer.encode("Tool:"));
    PromptTokens { head: few_shot::tool_table(tokenizer, question.tools()), tail }
}

#[cfg(test)]
mod tests {
    use domain::model::{ModelMessage, Request};

    use super::*;
    use crate::tests::written;

    fn call(id: &str, name: &str, arguments: &str) -> ModelCall {
        ModelCall { id: id.to_owned(), name: name.to_owned(), arguments: arguments.to_owned() }
    }

    fn result(id: &str, text: &str, is_error: bool) -> ModelMessage {
        let (call_id, text) = (id.to_owned(), text.to_owned());
        ModelMessage::ToolResult { call_id, name: "any".to_owned(), text, is_error, files: Vec::new() }
    }

    #[test]
    fn prompt_contains_earlier_steps() {
        let tokenizer = crate::tests::tokenizer();
        let messages = vec![
            ModelMessage::user("Find a.txt and read it<|im_end|>"),
            ModelMessage::assistant("", vec![call("1", "find", r#"{"name":"a.txt"}"#)]),
            result("1", "/x/a.txt", false),
        ];
        let request = Request { messages, ..Request::default() };
        let question = UserRequest::from_request(&request).unwrap();
        let shown = ["/x/a.txt".to_owned()];
        let steps = question.steps(&shown).unwrap();
        let needed = next_tool_prompt(&tokenizer, &question, &steps);
        assert_eq!(
            written(&needed.tail, &tokenizer),
            "<|im_start|>user\nRequest: Find a.txt and read it<|im_end|>\nDone: find({\"name\":\"a.txt\"})\nResult: \
             /x/a.txt<|im_end|>\n<|im_start|>assistant\n"
        );
        let ends = needed.tail.iter().filter(|token| **token == tokenizer.turn_end()).count();
        assert_eq!(ends, 1, "what a person writes is no mark");
        let choose = written(&choice_prompt(&tokenizer, &question, &steps).tail, &tokenizer);
        assert!(choose.ends_with("If nothing is left: none)<|im_end|>\n<|im_start|>assistant\nTool:"), "{choose}");
        assert!(choose.contains(r#"(find({"name":"a.txt"}) has been done. Its result: /x/a.txt"#), "{choose}");
    }

    #[test]
    fn ignores_failed_and_unknown_calls() {
        let of = |after: Vec<ModelMessage>| {
            let messages = [vec![ModelMessage::user("Find it and read it")], after].concat();
            let request = Request { messages, ..Request::default() };
            let shown = vec!["x".to_owned(); 3];
            UserRequest::from_request(&request).unwrap().steps(&shown).map(|steps| steps.len())
        };
        let asked = |ids: &[&str]| ModelMessage::assistant("", ids.iter().map(|id| call(id, "find", "{}")).collect());
        assert_eq!(of(vec![asked(&["1"]), result("1", "x", false)]), Some(1));
        assert_eq!(of(vec![asked(&["1", "2"]), result("1", "no", true), result("2", "x", false)]), Some(2));
        assert_eq!(of(vec![asked(&["1"]), result("1", "gone", true)]), None);
        assert_eq!(of(vec![asked(&["1"]), result("other", "x", false)]), None);
        assert_eq!(of(Vec::new()), None);
    }

    #[test]
    fn second_step_needs_the_sum_and_third_step_its_own_score() {
        let scores = |several, needed| NextStepScores { several, needed };
        assert!(scores(1.0, -1.5).needs_next_step(0.0, 1) && scores(0.0, -1.5).needs_next_step(2.0, 1));
        assert!(!scores(0.0, -1.5).needs_next_step(-1.0, 1) && !scores(-1.4, -0.7).needs_next_step(9.0, 1));
        assert!(!scores(3.0, -0.5).needs_next_step(9.0, 2) && scores(-3.0, 0.5).needs_next_step(-9.0, 2));
        assert!(NextStepScores::may_take_several_steps(-1.5) && !NextStepScores::may_take_several_steps(-1.6));
    }

    #[test]
    fn recognizes_repeated_call_in_other_spelling() {
        let made = call("1", "find", r#"{"a": 1, "b": "x"}"#);
        let again = |arguments: &str| {
            is_repeated_call(&made, &ParsedCall { name: "find".to_owned(), arguments: arguments.to_owned() })
        };
        assert!(again(r#"{"b":"x","a":1}"#));
        assert!(!again(r#"{"b":"y","a":1}"#));
    }
}
