//! How often the built-in model is right: real questions, real lists of tools, rules instead of a judge.
//!
//! `--filter TEXT` takes the cases whose id begins with it, whose list it is or whose subject contains it, `--sample N`
//! each Nth, `--half tune` or `--half held` every other one, `--tools 14` or `--tools 38` one length of list,
//! `--tools new` the cases about other servers, `--weights FILE` another file.

#![expect(clippy::print_stdout, reason = "a command-line tool")]

mod cases;
mod score;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use domain::UserId;
use domain::model::{ModelEvent, PartKind, Request};
use futures_util::StreamExt;
use local_model::{Engine, EngineSettings};
use tokio_util::sync::CancellationToken;

use cases::{CASE_KINDS, Case, Lists, NEW_SERVER_KINDS};
use score::Answer;

#[derive(Default)]
struct Options {
    filter: Option<String>,
    sample: usize,
    half: Option<usize>,
    tools: Option<String>,
    weights: Option<PathBuf>,
    least: Option<u32>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let options = options()?;
    let path = match options.weights {
        Some(path) => path,
        None => in_cache()?,
    };
    let engine = Engine::start(EngineSettings {
        weights_path: path,
        subprocess_program: None,
        verify_checksum: false,
        threads: None,
        idle_timeout: None,
    })?;
    let lists = Lists::read()?;
    let mut rows: Vec<Row> = Vec::new();
    for (length, suffix, kinds) in
        [("14", "", &CASE_KINDS[..]), ("38", "+", &CASE_KINDS), ("new", "", &NEW_SERVER_KINDS)]
    {
        if options.tools.as_deref().is_some_and(|wanted| wanted != length) {
            continue;
        }
        let mut questions = Vec::new();
        for &kind in kinds {
            // An answer from a result does not see the tools.
            if kind == "answers" && length == "38" && options.tools.is_none() {
                continue;
            }
            let mut number = 0;
            for case in cases::of_kind(kind)? {
                number += 1;
                let is_meant = options.filter.as_deref().is_none_or(|text| is_about(&case, text));
                if is_meant && number % options.sample == 0 && options.half.is_none_or(|half| number % 2 == half) {
                    let tools = lists.tools(&format!("{}{suffix}", case.list))?;
                    questions.push((rows.len(), case, tools));
                }
            }
            rows.push(Row { kind, length, right: 0, all: 0, spent: Duration::ZERO });
        }
        // Questions with the same tools follow each other, so that each list is read once.
        questions.sort_by_cached_key(|(_, _, tools)| tools.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>());
        for (row, case, tools) in questions {
            let started = Instant::now();
            let answer = ask(&engine, case.request(tools.clone())).await;
            let row = &mut rows[row];
            row.spent += started.elapsed();
            row.all += 1;
            let id = &case.id;
            match score::fault(&case, &tools, &answer) {
                None => {
                    row.right += 1;
                    println!("right: {id} ({length} tools)");
                }
                Some(fault) => println!("WRONG: {id} ({length} tools, {}) {:?}: {fault}", case.about, case.say),
            }
        }
    }
    println!("\n| questions | tools | right | | s each |\n|---|---|---|---|---|");
    for row in rows.iter().filter(|row| row.all > 0) {
        let share = f64::from(row.right) / f64::from(row.all) * 100.0;
        let each = row.spent.as_secs_f64() / f64::from(row.all);
        println!("| {} | {} | {} of {} | {share:.0} % | {each:.1} |", row.kind, row.length, row.right, row.all);
    }
    let (right, all) = rows.iter().fold((0, 0), |(right, all), row| (right + row.right, all + row.all));
    match options.least {
        Some(least) if right * 100 < all * least => bail!("{right} of {all} are right, and {least} % have to be"),
        _ => Ok(()),
    }
}

struct Row {
    kind: &'static str,
    length: &'static str,
    right: u32,
    all: u32,
    spent: Duration,
}

fn is_about(case: &Case, text: &str) -> bool {
    case.id.starts_with(text) || case.list == text || case.about.contains(text)
}

async fn ask(engine: &Engine, request: Request) -> Answer {
    let mut stream = engine.stream(request, UserId::fresh(), CancellationToken::new());
    let mut answer = Answer::default();
    while let Some(item) = stream.next().await {
        match item {
            Ok(ModelEvent::PartStart { kind: PartKind::ToolCall { name, .. }, .. }) => {
                answer.call = Some((name, String::new()));
            }
            Ok(ModelEvent::Delta { text, .. }) => match &mut answer.call {
                Some((_, arguments)) => arguments.push_str(&text),
                None => answer.text.push_str(&text),
            },
            Ok(_) => {}
            Err(error) => answer.error = Some(error.to_string()),
        }
    }
    answer
}

fn options() -> Result<Options> {
    let mut options = Options { sample: 1, ..Options::default() };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().with_context(|| format!("{name} wants a value"))?;
        match name.as_str() {
            "--filter" => options.filter = Some(value),
            "--sample" => options.sample = value.parse::<usize>()?.max(1),
            "--half" => options.half = Some(usize::from(value == "held")),
            "--tools" => options.tools = Some(value),
            "--weights" => options.weights = Some(value.into()),
            "--least" => options.least = Some(value.parse()?),
            other => bail!("{other} is not understood"),
        }
    }
    Ok(options)
}

/// The product's weights in the person's cache.
fn in_cache() -> Result<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| std::env::home_dir().map(|home| home.join(".cache")));
    let folder = cache.context("neither HOME nor XDG_CACHE_HOME is set")?.join("ai-chat-mcp");
    Ok(local_model::weights::DEFAULT_WEIGHTS.path_in(&folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every case can be answered rightly: its tool is in both lists, and the arguments are the tool's.
    #[test]
    fn every_case_can_be_right() {
        let lists = Lists::read().unwrap();
        let mut count = 0;
        for case in CASE_KINDS.into_iter().flat_map(|kind| cases::of_kind(kind).unwrap()) {
            count += 1;
            let expected = case.call.iter();
            for (suffix, length) in [("", 14), ("+", 38)] {
                let tools = lists.tools(&format!("{}{suffix}", case.list)).unwrap();
                assert_eq!(tools.len(), length, "{}{suffix}", case.list);
                for call in expected.clone() {
                    let names = match &call.name {
                        cases::Names::One(one) => std::slice::from_ref(one),
                        cases::Names::Several(several) => several.as_slice(),
                    };
                    for name in names {
                        let tool = tools.iter().find(|tool| tool.name == *name);
                        let tool =
                            tool.unwrap_or_else(|| panic!("{}: {name} is not in {}{suffix}", case.id, case.list));
                        let has = |field: &String| !tool.input_schema["properties"][field.as_str()].is_null();
                        assert!(call.arguments.keys().all(has), "{}: {name} takes other arguments", case.id);
                    }
                }
            }
        }
        assert!(count >= 120, "{count} cases");
    }

    /// The same for the cases about other servers.
    #[test]
    fn every_case_about_a_new_server_can_be_right() {
        let lists = Lists::read().unwrap();
        for case in NEW_SERVER_KINDS.into_iter().flat_map(|kind| cases::of_kind(kind).unwrap()) {
            let tools = lists.tools(&case.list).unwrap();
            let Some(call) = &case.call else { continue };
            let names = match &call.name {
                cases::Names::One(one) => std::slice::from_ref(one),
                cases::Names::Several(several) => several.as_slice(),
            };
            let takes_all = |name: &String| {
                let tool =
                    tools.iter().find(|tool| tool.name == *name).unwrap_or_else(|| panic!("{}: {name}", case.id));
                call.arguments.keys().all(|field| !tool.input_schema["properties"][field.as_str()].is_null())
            };
            assert!(names.iter().any(takes_all), "{}: no tool takes these arguments", case.id);
        }
    }

    #[test]
    fn answers_are_told_right_from_wrong() {
        let lists = Lists::read().unwrap();
        let tools = lists.tools("files").unwrap();
        let cases = cases::of_kind("named").unwrap();
        let case = cases.iter().find(|case| case.say.contains("first 5 lines")).unwrap();
        let fault = |arguments: &str| {
            let call = Some(("read_text_file".to_owned(), arguments.to_owned()));
            score::fault(case, &tools, &Answer { call, ..Answer::default() })
        };
        assert_eq!(fault(r#"{"path":"/var/log/syslog","head":5.0}"#), None);
        assert!(fault(r#"{"path":"/var/log/syslog"}"#).is_some(), "an argument is missing");
        assert!(fault(r#"{"path":"/var/log/syslog","head":5,"tail":9}"#).is_some(), "one too many");
        let words = Answer { text: "It is empty.".to_owned(), ..Answer::default() };
        assert!(score::fault(case, &tools, &words).is_some(), "words instead of a call");
    }
}
