//! Tests in the form of tables in `rest/tables`: requests and their expected responses, on all databases, byte for
//! byte.
//!
//! A table is read from top to bottom:
//! - `== words` begins a group with two new users, `$me` and `$other`, and ids `$1` to `$9` of its own;
//! - `[@who] METHOD path [body]` is a request of `$me`, or of `@other` or `@nobody`; `name: value` below it is a
//!   header;
//! - `=> status range body` is the response, with `-` for the range without `Content-Range`, and the body as it is
//!   sent;
//! - `=> status range !code message | details | hint` is an error response;
//! - `=> name: value` is a header of the response. `Preference-Applied`, `Location`, and a `Content-Type` other than
//!   that of a JSON array must be listed; each listed header must be present.

use std::fmt::Write as _;

use reqwest::{Method, RequestBuilder};
use serde_json::json;
use testkit::{Database, MockClock, Person, TestApp, databases};

const LIST: &str = "application/json; charset=utf-8";

/// A request and its expected response.
pub(super) struct Case<'a> {
    line: usize,
    group: usize,
    request: &'a str,
    headers: Vec<(&'a str, &'a str)>,
    want: Vec<&'a str>,
}

impl<'a> Case<'a> {
    /// Creates a request that is in no table.
    pub(super) fn new(request: &'a str, headers: &[(&'a str, &'a str)]) -> Self {
        Self { line: 0, group: 0, request, headers: headers.to_vec(), want: Vec::new() }
    }
}

fn parse(text: &str) -> Vec<Case<'_>> {
    let mut cases: Vec<Case<'_>> = Vec::new();
    let mut group = 0;
    for (index, line) in text.lines().enumerate() {
        if line.starts_with("== ") {
            group += 1;
        } else if let Some(want) = line.strip_prefix("=> ") {
            cases.last_mut().unwrap().want.push(want);
        } else if line.starts_with(|c: char| c.is_ascii_lowercase()) {
            cases.last_mut().unwrap().headers.push(line.split_once(": ").unwrap());
        } else if !line.is_empty() && !line.starts_with('#') {
            cases.push(Case { line: index + 1, group, request: line, headers: Vec::new(), want: Vec::new() });
        }
    }
    cases
}

/// The users of a group, and the words that represent their ids.
pub(super) struct Group {
    number: usize,
    people: [Person; 2],
}

impl Group {
    pub(super) async fn new(app: &TestApp, number: usize) -> Self {
        Self { number, people: [app.person().await, app.person().await] }
    }

    fn words(&self) -> impl Iterator<Item = (String, String)> {
        let people = ["$me", "$other"].into_iter().zip(&self.people);
        let people = people.map(|(word, person)| (word.to_owned(), person.id.clone()));
        let id = |n: usize| (format!("${n}"), format!("0000000{n}-0000-4000-8000-{:012}", self.number));
        people.chain((1..10).map(id))
    }

    fn spelled(&self, text: &str) -> String {
        self.words().fold(text.to_owned(), |text, (word, id)| text.replace(&word, &id))
    }

    fn named(&self, text: &str) -> String {
        self.words().fold(text.to_owned(), |text, (word, id)| text.replace(&id, &word))
    }

    fn request(&self, app: &TestApp, case: &Case<'_>) -> RequestBuilder {
        let spelled = self.spelled(case.request);
        let (who, rest) = match spelled.strip_prefix('@') {
            Some(rest) => rest.split_once(' ').unwrap(),
            None => ("me", spelled.as_str()),
        };
        let mut parts = rest.splitn(3, ' ');
        let method: Method = parts.next().unwrap().parse().unwrap();
        let path = format!("/rest/v1/{}", parts.next().unwrap());
        let mut request = match who {
            "me" => self.people[0].request(method, &path),
            "other" => self.people[1].request(method, &path),
            "nobody" => app.http.request(method, format!("{}{path}", app.url)),
            who => panic!("line {}: nobody is called {who}", case.line),
        };
        if let Some(body) = parts.next() {
            request = request.body(body.to_owned());
            if !case.headers.iter().any(|(name, _)| *name == "content-type") {
                request = request.header("content-type", "application/json");
            }
        }
        case.headers.iter().fold(request, |request, (name, value)| request.header(*name, self.spelled(value)))
    }

    /// Sends the request and returns the response in the form of a table.
    pub(super) async fn answer(&self, app: &TestApp, case: &Case<'_>) -> Vec<String> {
        let response = self.request(app, case).send().await.unwrap();
        let header = |name: &str| response.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
        let (status, range) = (response.status().as_u16(), header("content-range"));
        let expected_type = [("content-type", LIST)];
        let mut lines = Vec::new();
        for name in ["preference-applied", "location", "content-type", "www-authenticate", "allow"] {
            if let Some(value) = header(name).filter(|value| !expected_type.contains(&(name, value))) {
                lines.push(format!("{name}: {}", self.named(&value)));
            }
        }
        let has_type = header("content-type").is_some();
        let body = self.named(&response.text().await.unwrap());
        assert!(has_type || body.is_empty(), "line {}: a body without a type", case.line);
        let body = refusal(&body).unwrap_or(body);
        lines.insert(0, format!("{status} {} {body}", range.as_deref().unwrap_or("-")).trim_end().to_owned());
        lines
    }
}

/// Formats an error as `!code message | details | hint`.
fn refusal(body: &str) -> Option<String> {
    let value: serde_json::Value = serde_json::from_str(body).ok()?;
    let (code, message) = (value.get("code")?.as_str()?, value.get("message")?.as_str()?);
    let (details, hint) = (value.get("details")?, value.get("hint")?);
    let same = json!({ "code": code, "details": details, "hint": hint, "message": message });
    assert_eq!(same.to_string(), body, "a refusal has four keys");
    let mut line = format!("!{code} {message}");
    match (details.as_str(), hint.as_str()) {
        (None, None) => {}
        (details, None) => write!(line, " | {}", details.unwrap_or_default()).unwrap(),
        (details, Some(hint)) => write!(line, " | {} | {hint}", details.unwrap_or_default()).unwrap(),
    }
    Some(line)
}

/// Returns the differences to the table, in the form of the table.
async fn differences(database: Database, text: &str) -> String {
    let app = TestApp::builder().database(database).clock(&MockClock::new()).start().await;
    let mut group = Group::new(&app, 0).await;
    let mut report = String::new();
    for case in parse(text) {
        if case.group != group.number {
            group = Group::new(&app, case.group).await;
        }
        let got = group.answer(&app, &case).await;
        if got != case.want {
            let (want, got) = (case.want.join("\n   "), got.join("\n   "));
            writeln!(report, "{database:?}, line {}: {}\nwant {want}\ngot  {got}", case.line, case.request).unwrap();
        }
    }
    app.stop().await;
    report
}

async fn check(text: &str) {
    let mut report = String::new();
    for database in databases() {
        report += &differences(database, text).await;
    }
    assert!(report.is_empty(), "{report}");
}

#[tokio::test]
async fn texts_and_patterns() {
    check(include_str!("tables/texts.txt")).await;
}

#[tokio::test]
async fn literals() {
    check(include_str!("tables/literals.txt")).await;
}

#[tokio::test]
async fn logic_and_quoting() {
    check(include_str!("tables/logic.txt")).await;
}

#[tokio::test]
async fn lists_orders_and_pages() {
    check(include_str!("tables/pages.txt")).await;
}

#[tokio::test]
async fn writes() {
    check(include_str!("tables/writes.txt")).await;
}

#[tokio::test]
async fn upserts() {
    check(include_str!("tables/upserts.txt")).await;
}

#[tokio::test]
async fn headers() {
    check(include_str!("tables/headers.txt")).await;
}

#[tokio::test]
async fn owners() {
    check(include_str!("tables/owners.txt")).await;
}
