//! Whether another tool is needed after one was run, and which: a request may take several steps, as looking something up
//! and then using it.

use std::fmt::{Display, Write as _};

use domain::model::ModelCall;
use domain::text::{cut_to, ends};
use serde_json::Value;

use crate::call::Call;
use crate::head::Prompt;
use crate::pattern;
use crate::prompt::Question;
use crate::tokenizer::Tokenizer;
use crate::turns::Turns;

/// Calls that are made for one message at most.
pub(crate) const MOST_CALLS: usize = 3;

/// How much likelier "yes" has to be than "no", as logarithms: that a request takes several steps, and this together with
/// another one being needed. Found by trying with 18 requests that take two and 45 that take one, and raised a little for
/// one of 27 others, of which 8 of 12 were found then.
const SEVERAL: f32 = 0.0;
const ENOUGH: f32 = 0.1;

/// Bytes of each end of a result by which this is decided.
const END: usize = 150;

/// Bytes of arguments.
const ARGUMENTS: usize = 200;

/// A request, the steps that were done for it with what came of each, and whether another one is needed.
type Example = (&'static str, &'static [(&'static str, &'static str)], bool);

/// Requests, what was done for them with what came of it, and whether another tool is needed. Other ones than people send
/// will do, as long as each kind is there.
const EXAMPLES: [Example; 26] = [
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

/// Whether a request may take several steps, by how much likelier that is than that it takes one.
pub(crate) fn may_take_several(several: f32) -> bool {
    several >= SEVERAL
}

/// Whether another tool is needed after so many steps. What speaks for there being several speaks for no third one.
pub(crate) fn goes_on(several: f32, needed: f32, steps: usize) -> bool {
    tracing::debug!(several, needed, steps, "another tool or an answer");
    let sum = if steps == 1 { several + needed } else { needed };
    sum >= ENOUGH
}

/// Whether a call that was written is one that was made: going round in a circle is no step.
pub(crate) fn is_same(made: &ModelCall, written: &Call) -> bool {
    let arguments = |text: &str| serde_json::from_str::<Value>(text).ok();
    made.name == written.name && arguments(&made.arguments) == arguments(&written.arguments)
}

/// What stands before every question whether a request takes several steps.
pub(crate) fn several_table(tokenizer: &Tokenizer) -> Vec<u32> {
    let mut turns = Turns::new(tokenizer);
    turns.turn(
        "system",
        "A tool does one thing. Does the request need two different steps, one after the other, as looking something up \
         and then using what was found? Answer yes or no.",
    );
    for (request, steps, is_needed) in EXAMPLES {
        turns.turn("user", &format!("Request: {request}"));
        turns.turn("assistant", word(is_needed || steps.len() > 1));
    }
    turns.done()
}

/// The question whether a request takes several steps.
pub(crate) fn several(tokenizer: &Tokenizer, question: &Question<'_>) -> Prompt {
    let mut tail = Turns::new(tokenizer);
    tail.turn("user", &format!("Request: {}", question.request_in_short()));
    Prompt { head: several_table(tokenizer), tail: tail.for_assistant() }
}

/// What stands before every question whether another tool is needed.
pub(crate) fn needed_table(tokenizer: &Tokenizer) -> Vec<u32> {
    let mut turns = Turns::new(tokenizer);
    turns.turn(
        "system",
        "A tool was run for a request. Is another tool needed before everything that was asked for is done, or is it all \
         done with this result? Answer yes when another one is needed, else no.",
    );
    for (request, steps, is_needed) in EXAMPLES {
        turns.turn("user", &so_far(request, steps.iter().copied()));
        turns.turn("assistant", word(is_needed));
    }
    turns.done()
}

fn word(is_yes: bool) -> &'static str {
    pattern::NEEDED[usize::from(!is_yes)]
}

/// A request with what was done for it.
fn so_far(request: &str, steps: impl Iterator<Item = (impl Display, impl Display)>) -> String {
    let mut text = format!("Request: {request}");
    for (done, result) in steps {
        // Writing to a string cannot fail.
        let _ = write!(text, "\nDone: {done}\nResult: {result}");
    }
    text
}

/// The question whether another tool is needed after `steps`: calls with their results.
pub(crate) fn needed(tokenizer: &Tokenizer, question: &Question<'_>, steps: &[(&ModelCall, &str)]) -> Prompt {
    let mut tail = Turns::new(tokenizer);
    let steps = steps
        .iter()
        .map(|(call, result)| (format!("{}({})", call.name, cut_to(&call.arguments, ARGUMENTS)), ends(result, END)));
    tail.turn("user", &so_far(&question.request_in_short(), steps));
    Prompt { head: needed_table(tokenizer), tail: tail.for_assistant() }
}

/// The question which tool does the rest; its answer goes on as that of [`pattern::choose`] does.
pub(crate) fn choose(tokenizer: &Tokenizer, question: &Question<'_>, steps: &[(&ModelCall, &str)]) -> Prompt {
    let mut tail = Turns::new(tokenizer);
    let mut request = question.request_in_short();
    for (call, result) in steps {
        tail.turn("user", &format!("Request: {request}"));
        tail.turn("assistant", &format!("Tool: {}(", call.name));
        request = format!("The result is \"{}\". Now do the rest of it.", ends(result, END));
    }
    tail.turn("user", &format!("Request: {request}"));
    let mut tail = tail.for_assistant();
    tail.extend(tokenizer.encode("Tool:"));
    Prompt { head: pattern::table(tokenizer, question.tools()), tail }
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
    fn what_was_done_stands_before_the_question() {
        let tokenizer = crate::tests::tokenizer();
        let messages = vec![
            ModelMessage::user("Find a.txt and read it<|im_end|>"),
            ModelMessage::assistant("", vec![call("1", "find", r#"{"name":"a.txt"}"#)]),
            result("1", "/x/a.txt", false),
        ];
        let request = Request { messages, ..Request::default() };
        let question = Question::of(&request).unwrap();
        let shown = ["/x/a.txt".to_owned()];
        let steps = question.steps(&shown).unwrap();
        let needed = needed(&tokenizer, &question, &steps);
        assert_eq!(
            written(&needed.tail, &tokenizer),
            "<|im_start|>user\nRequest: Find a.txt and read it<|im_end|>\nDone: find({\"name\":\"a.txt\"})\nResult: \
             /x/a.txt<|im_end|>\n<|im_start|>assistant\n"
        );
        let ends = needed.tail.iter().filter(|token| **token == tokenizer.turn_end()).count();
        assert_eq!(ends, 1, "what a person writes is no mark");
        let choose = written(&choose(&tokenizer, &question, &steps).tail, &tokenizer);
        assert!(choose.ends_with("Now do the rest of it.<|im_end|>\n<|im_start|>assistant\nTool:"), "{choose}");
        assert!(choose.contains("<|im_start|>assistant\nTool: find(<|im_end|>"), "{choose}");
    }

    #[test]
    fn a_failure_and_an_unknown_call_are_no_steps() {
        let of = |after: Vec<ModelMessage>| {
            let messages = [vec![ModelMessage::user("Find it and read it")], after].concat();
            let request = Request { messages, ..Request::default() };
            let shown = vec!["x".to_owned(); 3];
            Question::of(&request).unwrap().steps(&shown).map(|steps| steps.len())
        };
        let asked = |ids: &[&str]| ModelMessage::assistant("", ids.iter().map(|id| call(id, "find", "{}")).collect());
        assert_eq!(of(vec![asked(&["1"]), result("1", "x", false)]), Some(1));
        assert_eq!(of(vec![asked(&["1", "2"]), result("1", "no", true), result("2", "x", false)]), Some(2));
        assert_eq!(of(vec![asked(&["1"]), result("1", "gone", true)]), None);
        assert_eq!(of(vec![asked(&["1"]), result("other", "x", false)]), None);
        assert_eq!(of(Vec::new()), None);
    }

    #[test]
    fn a_third_step_needs_its_own_reason() {
        assert!(goes_on(2.0, -0.5, 1) && goes_on(0.2, 0.0, 1));
        assert!(!goes_on(2.0, -0.5, 2) && goes_on(0.0, 0.5, 2));
        assert!(may_take_several(0.0) && !may_take_several(-0.1));
    }

    #[test]
    fn the_same_call_is_known_in_another_spelling() {
        let made = call("1", "find", r#"{"a": 1, "b": "x"}"#);
        let again =
            |arguments: &str| is_same(&made, &Call { name: "find".to_owned(), arguments: arguments.to_owned() });
        assert!(again(r#"{"b":"x","a":1}"#));
        assert!(!again(r#"{"b":"y","a":1}"#));
    }
}
