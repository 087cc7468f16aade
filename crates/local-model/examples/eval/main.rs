//! How often the built-in model is right: real questions, real lists of tools, rules instead of a judge.
//!
//! `--filter TEXT` takes the cases whose id begins with it, whose list it is or whose subject contains it, `--sample N`
//! each Nth, `--half tune` or `--half held` every other one, `--tools 14` or `--tools 38` one length of list,
//! `--tools new` the cases about other servers, `--weights FILE` another file. `--set test` asks the test set instead, whose
//! lists are one server alone (`--tools alone`) or sets of about 20 and 45 tools.

#![expect(clippy::print_stdout, reason = "a command-line tool")]

mod cases;
mod score;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use domain::UserId;
use domain::model::{ModelEvent, PartKind, Request, ToolSpec};
use futures_util::StreamExt;
use local_model::{Engine, EngineSettings};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

use cases::{CASE_KINDS, Case, ListedServer, Lists, NEW_SERVER_KINDS, Set, TEST_KINDS};
use score::{Answer, Verdict};

#[derive(Default)]
struct Options {
    set: Option<Set>,
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
    // With RUST_LOG=local_model=debug: the scores behind each answer.
    tracing_subscriber::fmt().with_env_filter(EnvFilter::from_default_env()).without_time().init();
    let path = match options.weights.clone() {
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
    let set = options.set.unwrap_or(Set::Development);
    let lists = Lists::read(set)?;
    let mut tally = Tally::default();
    // Questions with the same tools follow each other, so that each list is read once.
    let mut questions = select(set, &lists, &options)?;
    questions.sort_by(|one, other| one.list.cmp(&other.list));
    for Question { kind, length, case, servers, .. } in questions {
        let started = Instant::now();
        let answer = ask(&engine, case.request(&servers)).await;
        let spent = started.elapsed();
        let tools: Vec<ToolSpec> = servers.iter().flat_map(|server| server.tools.clone()).collect();
        let verdict = score::judge(&case, &tools, &answer);
        let id = &case.id;
        match &verdict {
            Verdict::Right if case.call.is_none() => println!("right: {id} ({length} tools) said {:?}", answer.text),
            Verdict::Right => println!("right: {id} ({length} tools)"),
            Verdict::Asked => println!("asked: {id} ({length} tools)"),
            Verdict::Wrong(fault) => {
                println!("WRONG: {id} ({length} tools, {}) {:?}: {fault}", case.about, case.say);
            }
        }
        tally.add((kind, length), &case, &servers, &answer, &verdict, spent);
    }
    tally.print();
    let (right, all) = tally.rows.values().fold((0, 0), |(right, all), row| (right + row.right, all + row.all));
    match options.least {
        Some(least) if right * 100 < all * least => bail!("{right} of {all} are right, and {least} % have to be"),
        _ => Ok(()),
    }
}

/// A question to ask.
struct Question {
    kind: &'static str,
    /// Name of its list of tools.
    list: String,
    length: &'static str,
    case: Case,
    servers: Vec<ListedServer>,
}

/// Returns the questions that the options select.
fn select(set: Set, lists: &Lists, options: &Options) -> Result<Vec<Question>> {
    let passes: &[(&str, &str, &[&'static str])] = match set {
        Set::Development => &[("14", "", &CASE_KINDS), ("38", "+", &CASE_KINDS), ("new", "", &NEW_SERVER_KINDS)],
        Set::Test => &[("", "", &TEST_KINDS)],
    };
    let mut questions = Vec::new();
    for (length, suffix, kinds) in passes {
        for &kind in *kinds {
            // An answer from a result does not see the tools.
            if kind == "answers" && *length == "38" && options.tools.is_none() {
                continue;
            }
            for (index, case) in cases::of_kind(set, kind)?.into_iter().enumerate() {
                let number = index + 1;
                let length = if set == Set::Test { length_of(&case.list) } else { length };
                let is_wanted = options.tools.as_deref().is_none_or(|wanted| wanted == length)
                    && options.filter.as_deref().is_none_or(|text| is_about(&case, text));
                if is_wanted && number % options.sample == 0 && options.half.is_none_or(|half| number % 2 == half) {
                    let list = format!("{}{suffix}", case.list);
                    let servers = lists.servers(&list)?;
                    questions.push(Question { kind, list, length, case, servers });
                }
            }
        }
    }
    Ok(questions)
}

/// Returns the length of a list of the test set, by its name.
fn length_of(list: &str) -> &'static str {
    match list.split('-').next() {
        Some("twenty") => "20",
        Some("fortyfive") => "45",
        _ => "alone",
    }
}

/// The verdicts, by kind and length of list, and by style.
#[derive(Default)]
struct Tally {
    rows: BTreeMap<(&'static str, &'static str), Row>,
    styles: BTreeMap<String, Row>,
    /// Calls of tools that may change something, where another call or none was right.
    unwanted_changes: u32,
}

#[derive(Default)]
struct Row {
    right: u32,
    asked: u32,
    all: u32,
    spent: Duration,
}

impl Row {
    fn add(&mut self, verdict: &Verdict, spent: Duration) {
        self.all += 1;
        self.right += u32::from(*verdict == Verdict::Right);
        self.asked += u32::from(*verdict == Verdict::Asked);
        self.spent += spent;
    }

    /// Prints a row of a table.
    fn print(&self, name: &str) {
        // An answer that asks counts as right at most for one question in eight.
        let counted = self.right + self.asked.min(self.all / 8);
        let share = f64::from(counted) / f64::from(self.all) * 100.0;
        let each = self.spent.as_secs_f64() / f64::from(self.all);
        println!("| {name} | {} of {} | {} | {share:.0} % | {each:.1} |", self.right, self.all, self.asked);
    }
}

impl Tally {
    fn add(
        &mut self,
        row: (&'static str, &'static str),
        case: &Case,
        servers: &[ListedServer],
        answer: &Answer,
        verdict: &Verdict,
        spent: Duration,
    ) {
        self.rows.entry(row).or_default().add(verdict, spent);
        if let Some(style) = &case.style {
            self.styles.entry(style.clone()).or_default().add(verdict, spent);
        }
        if let (Verdict::Wrong(_), Some((name, _))) = (verdict, &answer.call) {
            let meant = case.call.as_ref().is_some_and(|call| call.name.contains(name));
            let is_read_only = servers.iter().any(|server| server.read_only.contains(name));
            self.unwanted_changes += u32::from(!meant && !is_read_only);
        }
    }

    fn print(&self) {
        println!("\n| questions | right | asked | share | s each |\n|---|---|---|---|---|");
        for ((kind, length), row) in &self.rows {
            row.print(&format!("{kind}, {length} tools"));
        }
        for (style, row) in &self.styles {
            row.print(style);
        }
        println!(
            "\nCalls that were not meant, of tools that do not say that they change nothing: {}",
            self.unwanted_changes
        );
    }
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
            "--set" => options.set = Some(if value == "test" { Set::Test } else { Set::Development }),
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
    use std::collections::BTreeSet;

    use super::*;

    /// Every case can be answered rightly: its tool is in both lists, and the arguments are the tool's.
    #[test]
    fn every_case_can_be_right() {
        let lists = Lists::read(Set::Development).unwrap();
        let mut count = 0;
        for case in CASE_KINDS.into_iter().flat_map(|kind| cases::of_kind(Set::Development, kind).unwrap()) {
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
        let lists = Lists::read(Set::Development).unwrap();
        for case in NEW_SERVER_KINDS.into_iter().flat_map(|kind| cases::of_kind(Set::Development, kind).unwrap()) {
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

    /// The test set is as large as its figures claim, each of its cases can be answered rightly, and it knows no server of the
    /// development set.
    #[test]
    fn every_case_of_the_test_set_can_be_right() {
        let (lists, development) = (Lists::read(Set::Test).unwrap(), Lists::read(Set::Development).unwrap());
        assert!(lists.server_names().count() >= 12);
        assert!(lists.server_names().all(|name| development.server_names().all(|other| other != name)));
        let mut counts = BTreeMap::new();
        let mut words = BTreeSet::new();
        for kind in TEST_KINDS {
            for case in cases::of_kind(Set::Test, kind).unwrap() {
                *counts.entry(kind).or_insert(0) += 1;
                assert!(words.insert((case.say.clone(), case.list.clone())), "{}: asked before", case.id);
                let tools = lists.tools(&case.list).unwrap();
                let names: BTreeSet<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
                assert_eq!(names.len(), tools.len(), "{} has two tools of one name", case.list);
                let length = match length_of(&case.list) {
                    "20" => 18..=22,
                    "45" => 42..=48,
                    _ => 1..=30,
                };
                assert!(length.contains(&tools.len()), "{} has {} tools", case.list, tools.len());
                assert!(case.close.iter().all(|name| names.contains(name.as_str())), "{}", case.id);
                let Some(call) = &case.call else { continue };
                let right: Vec<_> = tools.iter().filter(|tool| call.name.contains(&tool.name)).collect();
                let takes_all = |tool: &&&ToolSpec| {
                    call.arguments.keys().all(|field| !tool.input_schema["properties"][field.as_str()].is_null())
                };
                assert!(right.iter().any(|tool| takes_all(&tool)), "{}: no tool takes these arguments", case.id);
            }
        }
        let all: u32 = counts.values().sum();
        assert!(
            all - counts["talk"] >= 300 && counts["none"] + counts["talk"] >= 80 && counts["cannot"] >= 40,
            "{counts:?}"
        );
    }

    #[test]
    fn answers_are_told_right_from_wrong() {
        let lists = Lists::read(Set::Development).unwrap();
        let tools = lists.tools("files").unwrap();
        let cases = cases::of_kind(Set::Development, "named").unwrap();
        let case = cases.iter().find(|case| case.say.contains("first 5 lines")).unwrap();
        let fault = |arguments: &str| {
            let call = Some(("read_text_file".to_owned(), arguments.to_owned()));
            score::judge(case, &tools, &Answer { call, ..Answer::default() })
        };
        let is_wrong = |verdict: Verdict| matches!(verdict, Verdict::Wrong(_));
        assert_eq!(fault(r#"{"path":"/var/log/syslog","head":5.0}"#), Verdict::Right);
        assert!(is_wrong(fault(r#"{"path":"/var/log/syslog"}"#)), "an argument is missing");
        assert!(is_wrong(fault(r#"{"path":"/var/log/syslog","head":5,"tail":9}"#)), "one too many");
        let words = |text: &str| Answer { text: text.to_owned(), ..Answer::default() };
        assert!(is_wrong(score::judge(case, &tools, &words("It is empty."))), "words instead of a call");
        let question = words("Which of the two do you mean?");
        assert!(is_wrong(score::judge(case, &tools, &question)), "nothing is close");
        let close = Case { close: vec!["read_text_file".to_owned(), "search_files".to_owned()], ..case.clone() };
        assert_eq!(score::judge(&close, &tools, &question), Verdict::Asked);
        let missing = Case { about: cases::MISSING.to_owned(), call: None, ..case.clone() };
        assert_eq!(score::judge(&missing, &tools, &question), Verdict::Right);
        assert!(is_wrong(score::judge(&missing, &tools, &words("Of course."))), "no question");
        let german = Case { call: None, language: Some("de".to_owned()), ..case.clone() };
        assert_eq!(score::judge(&german, &tools, &words("Das ist die Datei, und sie ist leer.")), Verdict::Right);
        assert!(is_wrong(score::judge(&german, &tools, &words("This is the file, and it is empty."))), "English");
    }
}
