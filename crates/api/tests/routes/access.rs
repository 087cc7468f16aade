//! Every route with every kind of caller.

use http_server::route::{Access, Entry};
use reqwest::Method;
use reqwest::header::CONTENT_TYPE;
use testkit::{Database, databases};

use super::caller::{Caller, Tokens};
use super::examples::{Example, examples};
use super::fixture::{Fixture, PRIVATE_TEXTS, People};

/// Expected response to a caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    /// Exactly this status.
    Status(u16),
    /// Rejected, because the token is missing or invalid.
    Refused,
    /// Rejected, or not found.
    RefusedOrNotFound,
    /// The owner's response, but about the caller's own data; never a rejected token.
    OwnData,
    /// Not found.
    NotFound,
    /// No rows and no error.
    NoRows,
    /// A rejected write.
    WriteRefused,
}

/// Returns what an access class means for a caller.
fn expected(access: Access, caller: Caller, example: &Example) -> Expected {
    let good = Expected::Status(example.status);
    // Neither a user's token nor a public key.
    let is_bad = Caller::BAD.contains(&caller) || matches!(caller, Caller::Malformed | Caller::Admin);
    match (access, caller) {
        (Access::Anyone, _) => good,
        (Access::Admin, Caller::Admin) => good,
        (Access::Admin, _) => Expected::Refused,
        (Access::OwnRows, _) if example.method == Method::OPTIONS && !is_bad => good,
        (Access::OwnRows, caller) if Caller::ANONYMOUS.contains(&caller) => {
            if example.method == Method::GET {
                Expected::NoRows
            } else {
                Expected::Refused
            }
        }
        (Access::OwnRows, Caller::Stranger) => match example.method {
            Method::GET | Method::DELETE | Method::PATCH => Expected::NoRows,
            _ => Expected::WriteRefused,
        },
        (Access::OwnToken, Caller::Internal) => good,
        (Access::Owner, Caller::HalfSignedIn) => Expected::RefusedOrNotFound,
        (Access::FirstFactor, Caller::HalfSignedIn) => Expected::OwnData,
        (_, Caller::Owner) => good,
        (Access::Owner, Caller::Stranger) => Expected::NotFound,
        (_, Caller::Stranger) => Expected::OwnData,
        _ => Expected::Refused,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_route_answers_those_who_may_call_it_and_nobody_else() {
    futures_util::future::join_all(databases().into_iter().map(check_all)).await;
}

async fn check_all(database: Database) {
    let fixture = Fixture::new(database).await;
    let (reads, writes): (Vec<Entry>, Vec<Entry>) =
        api::entries().into_iter().partition(|entry| entry.method == Method::GET);
    // Reads change nothing, so they share an owner. Creating one takes longer than all requests to a route.
    let people = People::new(&fixture).await;
    let tokens = Tokens::of(&fixture, &people).await;
    for entry in reads {
        check(&fixture, &people, &tokens, &entry).await;
    }
    for entry in writes {
        let people = People::new(&fixture).await;
        let tokens = Tokens::of(&fixture, &people).await;
        check(&fixture, &people, &tokens, &entry).await;
    }
    fixture.app.stop().await;
}

async fn check(fixture: &Fixture, people: &People, tokens: &Tokens, entry: &Entry) {
    for index in 0..examples(entry, people).len() {
        let before = people.owned_data().await;
        for (caller, token) in tokens.all() {
            let example = examples(entry, people).swap_remove(index);
            let expected = expected(entry.access, caller, &example);
            let at = format!("{} as {caller:?}: {expected:?}", example.name());
            let may_see_all =
                entry.access == Access::Anyone || entry.access == Access::Admin && caller == Caller::Admin;
            if caller == Caller::Owner && !matches!(entry.access, Access::Anyone | Access::Admin) {
                assert_eq!(before, people.owned_data().await, "{at}: others changed what is the owner's");
            }
            let (status, body) = call(fixture, &example, token).await;
            assert!(status < 500, "{at}, got {status}: {body}");
            let is_right = match expected {
                Expected::Status(wanted) => status == wanted,
                Expected::Refused => matches!(status, 401 | 403),
                Expected::RefusedOrNotFound => matches!(status, 401 | 403 | 404),
                Expected::OwnData => !matches!(status, 401 | 403),
                Expected::NotFound => status == 404,
                Expected::NoRows => matches!((status, body.as_str()), (200, "[]") | (204, "")),
                Expected::WriteRefused => (400..500).contains(&status),
            };
            assert!(is_right, "{at}, got {status}: {body}");
            if caller != Caller::Owner && !may_see_all && caller != Caller::Internal {
                let is_leaked =
                    PRIVATE_TEXTS.iter().any(|mark| body.contains(mark)) || body.contains(&people.owner.email);
                assert!(!is_leaked, "{at}, got {status}: {body}");
            }
        }
    }
}

async fn call(fixture: &Fixture, example: &Example, token: Option<&str>) -> (u16, String) {
    let answer = example.request(fixture, token).send().await;
    let answer = answer.unwrap_or_else(|error| panic!("{}: {error}", example.name()));
    let status = answer.status().as_u16();
    let kind = answer.headers().get(CONTENT_TYPE).map(|kind| kind.to_str().unwrap().to_owned());
    // An event stream has no end.
    if kind.is_some_and(|kind| kind.starts_with("text/event-stream")) {
        return (status, String::new());
    }
    (status, answer.text().await.unwrap())
}
