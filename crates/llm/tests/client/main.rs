//! The client against a scripted model server over real sockets.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod scripted;
mod wires;

use std::time::Duration;

use domain::model::{FinishReason, ModelError, ModelEvent, ModelMessage, ModelStatus, PartKind, Request};
use futures_util::StreamExt;
use llm::{Client, Provider, Settings};
use scripted::{CHUNKED_HEAD, DONE, STREAM_HEAD, Server, Step, answer, good, piece, provider_at, word};

/// The silence after which the impatient client gives up; long enough for a busy machine.
const IDLE: Duration = Duration::from_secs(1);

/// A client that retries at once and never gives up on a slow machine.
fn eager() -> Client {
    Client::with(Settings { backoff: Duration::from_millis(1), ..Settings::default() })
}

/// A client that soon gives up on a silent server.
fn impatient() -> Client {
    Client::with(Settings { idle: IDLE, ..Settings::default() })
}

fn question() -> Request {
    let messages = vec![ModelMessage::user("Where did I leave my bicycle?")];
    Request { model: "test-model".to_owned(), messages, ..Request::default() }
}

async fn ask(client: &Client, provider: &Provider) -> Vec<Result<ModelEvent, ModelError>> {
    client.stream(provider, question()).collect().await
}

fn text_of(events: &[Result<ModelEvent, ModelError>]) -> String {
    let deltas = events.iter().filter_map(|event| match event {
        Ok(ModelEvent::Delta { text, .. }) => Some(text.as_str()),
        _ => None,
    });
    deltas.collect()
}

fn waits_of(events: &[Result<ModelEvent, ModelError>]) -> Vec<u64> {
    let waits = events.iter().filter_map(|event| match event {
        Ok(ModelEvent::Status(ModelStatus::Retrying { after_ms })) => Some(*after_ms),
        _ => None,
    });
    waits.collect()
}

fn error_of(events: &[Result<ModelEvent, ModelError>]) -> &ModelError {
    events.last().unwrap().as_ref().unwrap_err()
}

#[tokio::test]
async fn an_answer_is_streamed_and_the_request_is_plain() {
    let server = Server::start([good("In the shed.")]).await;
    let events = ask(&eager(), &server.provider(Some(" sk-test\n"))).await;
    assert_eq!(
        events,
        [
            Ok(ModelEvent::PartStart { part: 0, kind: PartKind::Text }),
            Ok(ModelEvent::Delta { part: 0, text: "In the shed.".to_owned() }),
            Ok(ModelEvent::PartEnd { part: 0 }),
            Ok(ModelEvent::Finish(FinishReason::Stop)),
        ]
    );
    let [request] = &server.seen()[..] else { panic!("not one request") };
    assert!(request.head.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{}", request.head);
    let head = request.head.to_ascii_lowercase();
    assert!(head.contains("\r\nauthorization: bearer sk-test\r\n"), "{head}");
    assert!(!head.contains("accept-encoding"), "{head}");
    assert_eq!(request.body["model"], "test-model");
    assert_eq!(request.body["stream"], true);
}

#[tokio::test]
async fn without_a_key_none_is_sent() {
    let server = Server::start([good("Yes.")]).await;
    ask(&eager(), &server.provider(None)).await;
    assert!(!server.seen()[0].head.to_ascii_lowercase().contains("authorization"));
}

#[tokio::test]
async fn a_busy_provider_is_asked_again_and_each_wait_is_told() {
    let server = Server::start([
        answer("503 Service Unavailable", "", ""),
        answer("529 Overloaded", "retry-after-ms: 20\r\n", ""),
        answer("429 Too Many Requests", "retry-after: 0.03\r\n", "{}"),
        good("Now."),
    ])
    .await;
    let events = ask(&eager(), &server.provider(None)).await;
    assert_eq!(text_of(&events), "Now.");
    let waits = waits_of(&events);
    assert_eq!(waits.len(), 3);
    assert!(waits[1] >= 20 && waits[2] >= 30, "{waits:?}");
    assert!(matches!(events[..3], [Ok(ModelEvent::Status(_)), Ok(ModelEvent::Status(_)), Ok(ModelEvent::Status(_))]));
    assert_eq!(server.seen().len(), 4);
}

#[tokio::test]
async fn a_wait_asked_for_by_a_failing_provider_is_kept_too() {
    let server = Server::start([answer("503 Service Unavailable", "retry-after-ms: 40\r\n", ""), good("Now.")]).await;
    let events = ask(&eager(), &server.provider(None)).await;
    assert!(matches!(waits_of(&events)[..], [wait] if wait >= 40));
}

#[tokio::test]
async fn after_four_retries_the_providers_words_are_told() {
    let body = r#"{"error":{"message":"The engine is on fire."}}"#;
    let server = Server::start((0..6).map(|_| answer("500 Internal Server Error", "", body))).await;
    let events = ask(&eager(), &server.provider(None)).await;
    assert_eq!(error_of(&events), &ModelError::Provider("The engine is on fire.".to_owned()));
    assert_eq!(waits_of(&events).len(), 4);
    assert_eq!(server.seen().len(), 5);
}

#[tokio::test]
async fn a_wait_beyond_all_patience_is_told_at_once() {
    let body = r#"{"error":{"message":"Come back tomorrow."}}"#;
    let server = Server::start([answer("429 Too Many Requests", "retry-after: 86400\r\n", body)]).await;
    let events = ask(&eager(), &server.provider(None)).await;
    let (message, retry_after) = ("Come back tomorrow.".to_owned(), Some(Duration::from_hours(24)));
    assert_eq!(events, [Err(ModelError::RateLimited { message, retry_after })]);
}

#[tokio::test]
async fn a_refused_key_is_told_once_and_without_the_key() {
    let body = r#"{"error":{"message":"Incorrect API key provided: sk-very-secret.","code":"invalid_api_key"}}"#;
    let server = Server::start([answer("401 Unauthorized", "", body)]).await;
    let events = ask(&eager(), &server.provider(Some("sk-very-secret"))).await;
    assert_eq!(events, [Err(ModelError::Unauthorized("Incorrect API key provided: [key].".to_owned()))]);
}

#[tokio::test]
async fn a_key_that_cannot_be_sent_is_not_sent() {
    let server = Server::start([good("never")]).await;
    let events = ask(&eager(), &server.provider(Some("sk\nx"))).await;
    assert!(matches!(events[..], [Err(ModelError::Unauthorized(_))]), "{events:?}");
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn a_refusal_is_told_without_the_conversation() {
    let body = r#"{"error":{"message":"The model `test-model` does not exist: {'content': 'Where did I leave my bicycle?'}"}}"#;
    let server = Server::start([answer("404 Not Found", "", body)]).await;
    let events = ask(&eager(), &server.provider(None)).await;
    let told = "The model `test-model` does not exist: {'content': '…".to_owned();
    assert_eq!(events, [Err(ModelError::UnknownModel(told))]);
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let elsewhere = Server::start([good("never")]).await;
    let location = format!("location: {}\r\n", elsewhere.provider(None).base_url);
    let server = Server::start([answer("308 Permanent Redirect", &location, "")]).await;
    let events = ask(&eager(), &server.provider(Some("sk-test"))).await;
    assert!(matches!(events[..], [Err(ModelError::Refused(_))]), "{events:?}");
    assert!(elsewhere.seen().is_empty());
}

#[tokio::test]
async fn a_server_that_refuses_an_option_is_asked_without_it() {
    let body = r#"{"detail":[{"loc":["body","stream_options"],"msg":"Extra inputs are not permitted","input":{}}]}"#;
    let server = Server::start([answer("400 Bad Request", "", body), good("Fine.")]).await;
    let events = ask(&eager(), &server.provider(None)).await;
    assert_eq!((text_of(&events).as_str(), waits_of(&events).len()), ("Fine.", 0));
    let seen = server.seen();
    assert_eq!(seen[0].body["stream_options"]["include_usage"], true);
    assert!(seen[1].body.get("stream_options").is_none());
}

#[tokio::test]
async fn an_option_refused_twice_ends_it() {
    let body = r#"{"error":"stream_options"}"#;
    let server = Server::start((0..3).map(|_| answer("400 Bad Request", "", body))).await;
    let events = ask(&eager(), &server.provider(None)).await;
    assert_eq!(events, [Err(ModelError::Refused("stream_options".to_owned()))]);
    assert_eq!(server.seen().len(), 2);
}

#[tokio::test]
async fn what_is_no_answer_is_told_as_such() {
    for body in ["<html>Welcome to nginx!</html>", "data: {\"choices\":[{\n\n", "hello", ""] {
        let server = Server::start([answer("200 OK", "", body)]).await;
        let events = ask(&eager(), &server.provider(None)).await;
        assert!(matches!(events[..], [Err(ModelError::Malformed(_))]), "{body:?}: {events:?}");
    }
}

#[tokio::test]
async fn a_failure_as_first_event_is_tried_again() {
    let failure = "data: {\"error\":{\"code\":502,\"message\":\"upstream\"}}\n\n";
    let server = Server::start([Step::Say(format!("{STREAM_HEAD}{failure}")), good("Better.")]).await;
    let events = ask(&eager(), &server.provider(None)).await;
    assert_eq!((text_of(&events).as_str(), waits_of(&events).len()), ("Better.", 1));
}

#[tokio::test]
async fn a_failure_after_the_first_word_is_not() {
    let failure = "data: {\"error\":{\"code\":502,\"message\":\"upstream\"}}\n\n";
    let server = Server::start([Step::Say(format!("{STREAM_HEAD}{}{failure}", word("Half"))), good("never")]).await;
    let events = ask(&eager(), &server.provider(None)).await;
    assert_eq!(text_of(&events), "Half");
    assert_eq!(error_of(&events), &ModelError::Provider("upstream".to_owned()));
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn a_connection_lost_before_the_answer_is_made_again() {
    let server = Server::start([Step::Break(String::new()), good("Here.")]).await;
    let events = ask(&eager(), &server.provider(None)).await;
    assert_eq!((text_of(&events).as_str(), waits_of(&events).len()), ("Here.", 1));
}

#[tokio::test]
async fn a_connection_that_breaks_in_the_middle_is_an_error() {
    let half = format!("{CHUNKED_HEAD}{}", piece(&word("Half")));
    let server = Server::start([Step::Break(half), good("never")]).await;
    let events = ask(&eager(), &server.provider(None)).await;
    assert_eq!(text_of(&events), "Half");
    let told = "the connection broke before the answer was whole".to_owned();
    assert_eq!(error_of(&events), &ModelError::Unreachable(told));
}

#[tokio::test]
async fn what_is_read_in_beats_is_told_whole_and_before_the_connection_breaks() {
    // Long enough to be read in beats, and much quicker than they are.
    let words: Vec<String> = (0..400).map(|number| format!("{number} ")).collect();
    let pieces = std::iter::once(CHUNKED_HEAD.to_owned()).chain(words.iter().map(|text| piece(&word(text))));
    let step = Step::Write(pieces.collect(), Duration::from_millis(3));
    let server = Server::start([step]).await;
    let events = ask(&eager(), &server.provider(None)).await;
    assert_eq!(text_of(&events), words.concat());
    assert!(matches!(error_of(&events), ModelError::Unreachable(_)));
}

#[tokio::test]
async fn a_stream_closed_in_the_middle_is_truncated() {
    let server = Server::start([Step::Say(format!("{STREAM_HEAD}{}", word("Half")))]).await;
    let events = ask(&eager(), &server.provider(None)).await;
    assert_eq!(text_of(&events), "Half");
    assert_eq!(events.last(), Some(&Ok(ModelEvent::Finish(FinishReason::Truncated))));
}

#[tokio::test]
async fn after_the_finish_no_end_of_the_connection_matters() {
    let whole = format!("{CHUNKED_HEAD}{}{}", piece(&word("Whole.")), piece(DONE));
    for step in [Step::Break(whole.clone()), Step::Hang(whole)] {
        let server = Server::start([step]).await;
        let events = ask(&impatient(), &server.provider(None)).await;
        assert_eq!(text_of(&events), "Whole.");
        assert_eq!(events.last(), Some(&Ok(ModelEvent::Finish(FinishReason::Stop))));
    }
}

#[tokio::test]
async fn silence_is_told_before_and_within_an_answer() {
    for (said, text) in [(String::new(), ""), (format!("{STREAM_HEAD}{}", word("Half")), "Half")] {
        let server = Server::start([Step::Hang(said)]).await;
        let events = ask(&impatient(), &server.provider(None)).await;
        assert_eq!(text_of(&events), text);
        assert_eq!(error_of(&events), &ModelError::Silent(IDLE));
    }
}

#[tokio::test]
async fn dropping_the_stream_closes_the_connection() {
    for said in [String::new(), format!("{STREAM_HEAD}{}", word("Half"))] {
        let mut server = Server::start([Step::Hang(said.clone())]).await;
        let mut stream = Box::pin(eager().stream(&server.provider(None), question()));
        if said.is_empty() {
            // The request is out, and its answer is being waited for.
            tokio::select! {
                event = stream.next() => panic!("{event:?}"),
                _ = server.asked.recv() => {}
            }
        } else {
            assert!(matches!(stream.next().await, Some(Ok(ModelEvent::PartStart { .. }))));
        }
        assert!(server.left.try_recv().is_err());
        drop(stream);
        server.left.recv().await.unwrap();
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_is_tried_and_told() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let provider = provider_at(listener.local_addr().unwrap(), None);
    drop(listener);
    let events = ask(&eager(), &provider).await;
    assert_eq!(waits_of(&events).len(), 4);
    let ModelError::Unreachable(reason) = error_of(&events) else { panic!("{events:?}") };
    assert!(reason.ends_with("refused") && !reason.contains("127.0.0.1"), "{reason}");
    assert!(matches!(eager().list_models(&provider).await, Err(ModelError::Unreachable(_))));
}

#[tokio::test]
async fn the_models_are_listed() {
    let server = Server::start([
        answer("200 OK", "", r#"{"object":"list","data":[{"id":"small"},{"id":"org/large"}]}"#),
        answer("401 Unauthorized", "", r#"{"error":{"message":"bad key sk-secret"}}"#),
        answer("200 OK", "", "<html></html>"),
    ])
    .await;
    let (client, provider) = (eager(), server.provider(Some("sk-secret")));
    assert_eq!(client.list_models(&provider).await.unwrap(), ["small", "org/large"]);
    assert_eq!(client.list_models(&provider).await, Err(ModelError::Unauthorized("bad key [key]".to_owned())));
    assert!(matches!(client.list_models(&provider).await, Err(ModelError::Malformed(_))));
    assert!(server.seen()[0].head.starts_with("GET /v1/models HTTP/1.1\r\n"));
}
