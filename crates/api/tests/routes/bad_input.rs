//! Every route with every kind of invalid request: never an internal error, and the databases agree.

use std::collections::BTreeMap;

use futures_util::future::BoxFuture;
use http_server::route::{Access, Entry};
use reqwest::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use reqwest::{Method, RequestBuilder};
use serde_json::Value;
use testkit::{Database, databases};

use super::examples::{Example, examples};
use super::fixture::{Fixture, People, SERVICE_ROLE_KEY};
use super::malformed::{LARGE_BODY, UNKNOWN, bodies, headers, names, queries};

/// Names of the bodies that are sent to routes that read none.
const UNREAD_BODIES: [&str; 3] = ["half an object", "not UTF-8", LARGE_BODY];

/// Statuses by request.
type Answers = BTreeMap<String, u16>;

#[tokio::test(flavor = "multi_thread")]
async fn bad_bodies_are_the_callers_fault_and_the_answer_names_the_field() {
    agree(|call| Box::pin(bad_bodies(call))).await;
}

async fn bad_bodies(call: &Call<'_>) {
    let reads_body = !matches!(call.entry.method, Method::GET | Method::OPTIONS);
    for malformed in bodies(call.example.body.as_ref()) {
        if !reads_body && !UNREAD_BODIES.contains(&malformed.name.as_str()) {
            continue;
        }
        let mut request = call.fixture.http.request(call.example.method.clone(), call.url(&call.example.path));
        request = request.headers(call.example.headers.clone()).bearer_auth(call.token).body(malformed.body);
        if let Some(kind) = malformed.content_type {
            let Ok(kind) = HeaderValue::from_bytes(kind.as_bytes()) else { continue };
            request = request.header(CONTENT_TYPE, kind);
        }
        let (status, answer) = call.send(&malformed.name, request).await;
        let at = format!("{} with {}: {status} {answer}", call.example.name(), malformed.name);
        let takes_a_body = call.example.body.is_some() && call.example.status < 400;
        // The auth protocol accepts null for an empty object, and some of its routes need no body.
        let is_empty = malformed.name == "null" && call.example.path.starts_with("/auth/v1/");
        if takes_a_body && malformed.is_bad && !is_empty {
            assert!((400..500).contains(&status), "{at}");
        }
        let is_own_api = call.example.path.starts_with("/api/") || call.example.path.starts_with("/functions/");
        if is_own_api && malformed.name == UNKNOWN {
            assert_eq!(status, call.example.status, "fields that nobody knows are ignored: {at}");
        }
        if let Some(field) = malformed.field.filter(|_| is_own_api && status == 400) {
            assert!(answer.contains(&field), "{at}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_paths_and_queries_are_the_callers_fault() {
    agree(|call| Box::pin(bad_paths_and_queries(call))).await;
}

async fn bad_paths_and_queries(call: &Call<'_>) {
    for query in queries() {
        let joint = if call.example.path.contains('?') { '&' } else { '?' };
        let path = format!("{}{joint}{query}", call.example.path);
        call.send(&format!("?{query:.40}"), call.request(&path)).await;
    }
    let Some((before, after)) = call.entry.path.split_once('{') else { return };
    let after = after.split_once('}').unwrap().1;
    for name in names() {
        let what = format!("{{{name:.40}}}");
        let (status, answer) = call.send(&what, call.request(&format!("{before}{name}{after}"))).await;
        assert!((400..500).contains(&status), "{} with {what}: {status} {answer}", call.example.name());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_headers_and_methods_are_the_callers_fault() {
    // They are read before the database is reached, so one database shows it.
    on(Database::of_environment(), |call| Box::pin(bad_headers_and_methods(call))).await;
}

async fn bad_headers_and_methods(call: &Call<'_>) {
    let table = api::entries();
    for (name, value) in headers() {
        let mut request = call.request(&call.example.path).build().unwrap();
        let name = HeaderName::from_static(name);
        request.headers_mut().insert(name.clone(), HeaderValue::from_bytes(&value).unwrap());
        let what = format!("{name}: {:.40}", String::from_utf8_lossy(&value));
        call.execute(&what, request).await;
    }
    for method in ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"] {
        let asked: Method = method.parse().unwrap();
        let stands_for = if asked == Method::HEAD { Method::GET } else { asked.clone() };
        let is_route = |entry: &Entry| matches(&entry.path, &call.entry.path) && entry.method == stands_for;
        if table.iter().any(is_route) {
            continue;
        }
        let request = call.fixture.http.request(asked, call.url(&call.example.path)).bearer_auth(call.token);
        let (status, answer) = call.send(method, request).await;
        assert_eq!(status, 405, "{method} {}: {answer}", call.example.path);
    }
}

/// Returns whether two paths of the table can match the same path.
fn matches(one: &str, other: &str) -> bool {
    let varies = |part: &str| part.starts_with('{');
    one.split('/').count() == other.split('/').count()
        && one.split('/').zip(other.split('/')).all(|(a, b)| a == b || varies(a) || varies(b))
}

/// An example that is sent in many variants.
struct Call<'a> {
    fixture: &'a Fixture,
    entry: &'a Entry,
    example: Example,
    token: &'a str,
    answers: std::sync::Mutex<Answers>,
}

/// The variants of an example.
type Work = for<'a> fn(&'a Call<'a>) -> BoxFuture<'a, ()>;

/// Sends the same variants of every example on every database, and compares the statuses.
async fn agree(work: Work) {
    let runs = databases().into_iter().map(|database| on(database, work));
    let answers: Vec<(Database, Answers)> = futures_util::future::join_all(runs).await;
    for (database, other) in &answers[1..] {
        for (asked, status) in &answers[0].1 {
            // A response can be lost if the server did not read the body.
            let is_same = other.get(asked).is_none_or(|theirs| theirs == status);
            assert!(is_same, "{:?} and {database:?} differ: {asked}", answers[0].0);
        }
    }
}

async fn on(database: Database, work: Work) -> (Database, Answers) {
    let fixture = Fixture::new(database).await;
    let mut all = Answers::new();
    let mut people = People::new(&fixture).await;
    for entry in api::entries() {
        // The last route may have deleted what the next one needs.
        if !people.have_all_data().await {
            people = People::new(&fixture).await;
        }
        for example in examples(&entry, &people) {
            let token = if entry.access == Access::Admin { SERVICE_ROLE_KEY } else { &people.owner.token };
            let call = Call { fixture: &fixture, entry: &entry, example, token, answers: std::sync::Mutex::default() };
            work(&call).await;
            all.extend(call.answers.into_inner().unwrap());
        }
    }
    fixture.app.stop().await;
    (database, all)
}

impl Call<'_> {
    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.fixture.app.url)
    }

    /// Returns the valid request at another path.
    fn request(&self, path: &str) -> RequestBuilder {
        let example = Example { path: path.to_owned(), ..self.example.clone() };
        example.request(self.fixture, Some(self.token))
    }

    async fn send(&self, what: &str, request: RequestBuilder) -> (u16, String) {
        let request = request.build().unwrap_or_else(|error| panic!("{} with {what}: {error}", self.example.name()));
        self.execute(what, request).await
    }

    /// Sends a request, and checks that the response is no internal error and has the form of the route's protocol.
    async fn execute(&self, what: &str, request: reqwest::Request) -> (u16, String) {
        let at = format!("{} with {what}", self.example.name());
        let is_head = request.method() == Method::HEAD;
        // An unexpected body is not read, and the server closes the connection.
        let is_unwanted = request.method() == Method::GET && request.body().is_some();
        let may_be_lost = what == LARGE_BODY || is_unwanted;
        let answer = match self.fixture.http.execute(request).await {
            Ok(answer) => answer,
            // The client may not receive the response before the connection is closed.
            Err(error) if may_be_lost && !error.is_timeout() => return (413, String::new()),
            Err(error) => panic!("{at}: {error}"),
        };
        let status = answer.status().as_u16();
        let kind = answer.headers().get(CONTENT_TYPE).map(|kind| kind.to_str().unwrap().to_owned()).unwrap_or_default();
        let is_stream = kind.starts_with("text/event-stream");
        let text = if is_stream { Ok(String::new()) } else { answer.text().await };
        let text = match text {
            Ok(text) => text,
            Err(error) if may_be_lost && !error.is_timeout() => return (status, String::new()),
            Err(error) => panic!("{at}: {error}"),
        };
        assert!(status < 500, "{at}: {status} {text}");
        // Errors of the HTTP layer have no body; all others are JSON with a message.
        let is_refusal = status >= 400 && !is_head && !(matches!(status, 400 | 414 | 431) && text.is_empty());
        if is_refusal {
            assert!(kind.starts_with("application/json"), "{at}: {status} {kind} {text}");
            assert!(serde_json::from_str::<Value>(&text).unwrap().is_object(), "{at}: {status} {text}");
        }
        if what != LARGE_BODY {
            let asked = format!("{} {} with {what}", self.entry.method, self.entry.path);
            self.answers.lock().unwrap().insert(asked, status);
        }
        (status, text)
    }
}
