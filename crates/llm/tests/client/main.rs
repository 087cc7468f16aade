//! The client against a scripted model server over real sockets.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod apis;
mod scripted_server;

use std::time::Duration;

use domain::model::{FinishReason, ModelError, ModelEvent, ModelMessage, ModelStatus, PartKind, Request};
use futures_util::StreamExt;
use llm::{Client, ClientSettings, Provider};
use scripted_server::{
    CHUNKED_HEAD, FINISH_EVENT, STREAM_HEAD, ScriptedServer, Step, complete_response, http_chunk, http_response,
    provider_at, text_event,
};

/// Idle timeout of [`short_timeout_client`], long enough for a busy machine.
const IDLE: Duration = Duration::from_secs(1);

/// Returns a client that retries at once and has the default timeouts.
fn fast_retry_client() -> Client {
    Client::with_settings(ClientSettings { initial_backoff: Duration::from_millis(1), ..ClientSettings::default() })
}

/// Returns a client with a short idle timeout.
fn short_timeout_client() -> Client {
    Client::with_settings(ClientSettings { idle_timeout: IDLE, ..ClientSettings::default() })
}

fn simple_request() -> Request {
    let messages = vec![ModelMessage::user("Where did I leave my bicycle?")];
    Request { model: "test-model".to_owned(), messages, ..Request::default() }
}

async fn collect_events(client: &Client, provider: &Provider) -> Vec<Result<ModelEvent, ModelError>> {
    client.stream(provider, simple_request()).collect().await
}

fn joined_text(events: &[Result<ModelEvent, ModelError>]) -> String {
    let deltas = events.iter().filter_map(|event| match event {
        Ok(ModelEvent::Delta { text, .. }) => Some(text.as_str()),
        _ => None,
    });
    deltas.collect()
}

fn retry_delays(events: &[Result<ModelEvent, ModelError>]) -> Vec<u64> {
    let waits = events.iter().filter_map(|event| match event {
        Ok(ModelEvent::Status(ModelStatus::Retrying { after_ms })) => Some(*after_ms),
        _ => None,
    });
    waits.collect()
}

fn last_error(events: &[Result<ModelEvent, ModelError>]) -> &ModelError {
    events.last().unwrap().as_ref().unwrap_err()
}

#[tokio::test]
async fn streams_response_of_uncompressed_request() {
    let server = ScriptedServer::start([complete_response("In the shed.")]).await;
    let events = collect_events(&fast_retry_client(), &server.provider(Some(" sk-test\n"))).await;
    assert_eq!(
        events,
        [
            Ok(ModelEvent::PartStart { part: 0, kind: PartKind::Text }),
            Ok(ModelEvent::Delta { part: 0, text: "In the shed.".to_owned() }),
            Ok(ModelEvent::PartEnd { part: 0 }),
            Ok(ModelEvent::Finish(FinishReason::Stop)),
        ]
    );
    let [request] = &server.take_requests()[..] else { panic!("not one request") };
    assert!(request.head.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{}", request.head);
    let head = request.head.to_ascii_lowercase();
    assert!(head.contains("\r\nauthorization: bearer sk-test\r\n"), "{head}");
    assert!(!head.contains("accept-encoding"), "{head}");
    assert_eq!(request.body["model"], "test-model");
    assert_eq!(request.body["stream"], true);
}

#[tokio::test]
async fn sends_no_key_without_one() {
    let server = ScriptedServer::start([complete_response("Yes.")]).await;
    collect_events(&fast_retry_client(), &server.provider(None)).await;
    assert!(!server.take_requests()[0].head.to_ascii_lowercase().contains("authorization"));
}

#[tokio::test]
async fn retries_busy_provider_and_reports_each_delay() {
    let server = ScriptedServer::start([
        http_response("503 Service Unavailable", "", ""),
        http_response("529 Overloaded", "retry-after-ms: 20\r\n", ""),
        http_response("429 Too Many Requests", "retry-after: 0.03\r\n", "{}"),
        complete_response("Now."),
    ])
    .await;
    let events = collect_events(&fast_retry_client(), &server.provider(None)).await;
    assert_eq!(joined_text(&events), "Now.");
    let waits = retry_delays(&events);
    assert_eq!(waits.len(), 3);
    assert!(waits[1] >= 20 && waits[2] >= 30, "{waits:?}");
    assert!(matches!(events[..3], [Ok(ModelEvent::Status(_)), Ok(ModelEvent::Status(_)), Ok(ModelEvent::Status(_))]));
    assert_eq!(server.take_requests().len(), 4);
}

#[tokio::test]
async fn respects_retry_after_of_failing_provider() {
    let server = ScriptedServer::start([
        http_response("503 Service Unavailable", "retry-after-ms: 40\r\n", ""),
        complete_response("Now."),
    ])
    .await;
    let events = collect_events(&fast_retry_client(), &server.provider(None)).await;
    assert!(matches!(retry_delays(&events)[..], [wait] if wait >= 40));
}

#[tokio::test]
async fn returns_provider_message_after_four_retries() {
    let body = r#"{"error":{"message":"The engine is on fire."}}"#;
    let server = ScriptedServer::start((0..6).map(|_| http_response("500 Internal Server Error", "", body))).await;
    let events = collect_events(&fast_retry_client(), &server.provider(None)).await;
    assert_eq!(last_error(&events), &ModelError::Provider("The engine is on fire.".to_owned()));
    assert_eq!(retry_delays(&events).len(), 4);
    assert_eq!(server.take_requests().len(), 5);
}

#[tokio::test]
async fn returns_error_when_requested_delay_is_too_long() {
    let body = r#"{"error":{"message":"Come back tomorrow."}}"#;
    let server = ScriptedServer::start([http_response("429 Too Many Requests", "retry-after: 86400\r\n", body)]).await;
    let events = collect_events(&fast_retry_client(), &server.provider(None)).await;
    let (message, retry_after) = ("Come back tomorrow.".to_owned(), Some(Duration::from_hours(24)));
    assert_eq!(events, [Err(ModelError::RateLimited { message, retry_after })]);
}

#[tokio::test]
async fn reports_refused_key_without_the_key() {
    let body = r#"{"error":{"message":"Incorrect API key provided: sk-very-secret.","code":"invalid_api_key"}}"#;
    let server = ScriptedServer::start([http_response("401 Unauthorized", "", body)]).await;
    let events = collect_events(&fast_retry_client(), &server.provider(Some("sk-very-secret"))).await;
    assert_eq!(events, [Err(ModelError::Unauthorized("Incorrect API key provided: [key].".to_owned()))]);
}

#[tokio::test]
async fn rejects_key_with_line_break() {
    let server = ScriptedServer::start([complete_response("never")]).await;
    let events = collect_events(&fast_retry_client(), &server.provider(Some("sk\nx"))).await;
    assert!(matches!(events[..], [Err(ModelError::Unauthorized(_))]), "{events:?}");
    assert!(server.take_requests().is_empty());
}

#[tokio::test]
async fn removes_conversation_from_refusal() {
    let body = r#"{"error":{"message":"The model `test-model` does not exist: {'content': 'Where did I leave my bicycle?'}"}}"#;
    let server = ScriptedServer::start([http_response("404 Not Found", "", body)]).await;
    let events = collect_events(&fast_retry_client(), &server.provider(None)).await;
    let message = "The model `test-model` does not exist: {'content': '…".to_owned();
    assert_eq!(events, [Err(ModelError::UnknownModel(message))]);
}

#[tokio::test]
async fn does_not_follow_redirects() {
    let elsewhere = ScriptedServer::start([complete_response("never")]).await;
    let location = format!("location: {}\r\n", elsewhere.provider(None).base_url);
    let server = ScriptedServer::start([http_response("308 Permanent Redirect", &location, "")]).await;
    let events = collect_events(&fast_retry_client(), &server.provider(Some("sk-test"))).await;
    assert!(matches!(events[..], [Err(ModelError::Refused(_))]), "{events:?}");
    assert!(elsewhere.take_requests().is_empty());
}

#[tokio::test]
async fn omits_refused_option() {
    let body = r#"{"detail":[{"loc":["body","stream_options"],"msg":"Extra inputs are not permitted","input":{}}]}"#;
    let server = ScriptedServer::start([http_response("400 Bad Request", "", body), complete_response("Fine.")]).await;
    let events = collect_events(&fast_retry_client(), &server.provider(None)).await;
    assert_eq!((joined_text(&events).as_str(), retry_delays(&events).len()), ("Fine.", 0));
    let seen = server.take_requests();
    assert_eq!(seen[0].body["stream_options"]["include_usage"], true);
    assert!(seen[1].body.get("stream_options").is_none());
}

#[tokio::test]
async fn fails_when_option_is_refused_twice() {
    let body = r#"{"error":"stream_options"}"#;
    let server = ScriptedServer::start((0..3).map(|_| http_response("400 Bad Request", "", body))).await;
    let events = collect_events(&fast_retry_client(), &server.provider(None)).await;
    assert_eq!(events, [Err(ModelError::Refused("stream_options".to_owned()))]);
    assert_eq!(server.take_requests().len(), 2);
}

#[tokio::test]
async fn rejects_bodies_that_are_not_responses() {
    for body in ["<html>Welcome to nginx!</html>", "data: {\"choices\":[{\n\n", "hello", ""] {
        let server = ScriptedServer::start([http_response("200 OK", "", body)]).await;
        let events = collect_events(&fast_retry_client(), &server.provider(None)).await;
        assert!(matches!(events[..], [Err(ModelError::Malformed(_))]), "{body:?}: {events:?}");
    }
}

#[tokio::test]
async fn retries_error_in_first_event() {
    let failure = "data: {\"error\":{\"code\":502,\"message\":\"upstream\"}}\n\n";
    let server =
        ScriptedServer::start([Step::Send(format!("{STREAM_HEAD}{failure}")), complete_response("Better.")]).await;
    let events = collect_events(&fast_retry_client(), &server.provider(None)).await;
    assert_eq!((joined_text(&events).as_str(), retry_delays(&events).len()), ("Better.", 1));
}

#[tokio::test]
async fn does_not_retry_after_first_text() {
    let failure = "data: {\"error\":{\"code\":502,\"message\":\"upstream\"}}\n\n";
    let server = ScriptedServer::start([
        Step::Send(format!("{STREAM_HEAD}{}{failure}", text_event("Half"))),
        complete_response("never"),
    ])
    .await;
    let events = collect_events(&fast_retry_client(), &server.provider(None)).await;
    assert_eq!(joined_text(&events), "Half");
    assert_eq!(last_error(&events), &ModelError::Provider("upstream".to_owned()));
    assert_eq!(server.take_requests().len(), 1);
}

#[tokio::test]
async fn retries_connection_lost_before_response() {
    let server = ScriptedServer::start([Step::SendAndDrop(String::new()), complete_response("Here.")]).await;
    let events = collect_events(&fast_retry_client(), &server.provider(None)).await;
    assert_eq!((joined_text(&events).as_str(), retry_delays(&events).len()), ("Here.", 1));
}

#[tokio::test]
async fn reports_connection_lost_during_response() {
    let half = format!("{CHUNKED_HEAD}{}", http_chunk(&text_event("Half")));
    let server = ScriptedServer::start([Step::SendAndDrop(half), complete_response("never")]).await;
    let events = collect_events(&fast_retry_client(), &server.provider(None)).await;
    assert_eq!(joined_text(&events), "Half");
    let message = "the connection closed before the response was complete".to_owned();
    assert_eq!(last_error(&events), &ModelError::Unreachable(message));
}

#[tokio::test]
async fn returns_all_text_read_at_ticks_before_the_error() {
    // Long enough to be read at ticks, and much faster than the ticks.
    let words: Vec<String> = (0..400).map(|number| format!("{number} ")).collect();
    let pieces = std::iter::once(CHUNKED_HEAD.to_owned()).chain(words.iter().map(|text| http_chunk(&text_event(text))));
    let step = Step::SendSlowly(pieces.collect(), Duration::from_millis(3));
    let server = ScriptedServer::start([step]).await;
    let events = collect_events(&fast_retry_client(), &server.provider(None)).await;
    assert_eq!(joined_text(&events), words.concat());
    assert!(matches!(last_error(&events), ModelError::Unreachable(_)));
}

#[tokio::test]
async fn marks_stream_closed_early_as_truncated() {
    let server = ScriptedServer::start([Step::Send(format!("{STREAM_HEAD}{}", text_event("Half")))]).await;
    let events = collect_events(&fast_retry_client(), &server.provider(None)).await;
    assert_eq!(joined_text(&events), "Half");
    assert_eq!(events.last(), Some(&Ok(ModelEvent::Finish(FinishReason::Truncated))));
}

#[tokio::test]
async fn ignores_connection_loss_after_finish() {
    let whole = format!("{CHUNKED_HEAD}{}{}", http_chunk(&text_event("Whole.")), http_chunk(FINISH_EVENT));
    for step in [Step::SendAndDrop(whole.clone()), Step::SendAndWait(whole)] {
        let server = ScriptedServer::start([step]).await;
        let events = collect_events(&short_timeout_client(), &server.provider(None)).await;
        assert_eq!(joined_text(&events), "Whole.");
        assert_eq!(events.last(), Some(&Ok(ModelEvent::Finish(FinishReason::Stop))));
    }
}

#[tokio::test]
async fn reports_silence_before_and_during_response() {
    for (said, text) in [(String::new(), ""), (format!("{STREAM_HEAD}{}", text_event("Half")), "Half")] {
        let server = ScriptedServer::start([Step::SendAndWait(said)]).await;
        let events = collect_events(&short_timeout_client(), &server.provider(None)).await;
        assert_eq!(joined_text(&events), text);
        assert_eq!(last_error(&events), &ModelError::StreamTimeout(IDLE));
    }
}

#[tokio::test]
async fn dropping_the_stream_closes_the_connection() {
    for said in [String::new(), format!("{STREAM_HEAD}{}", text_event("Half"))] {
        let mut server = ScriptedServer::start([Step::SendAndWait(said.clone())]).await;
        let mut stream = Box::pin(fast_retry_client().stream(&server.provider(None), simple_request()));
        if said.is_empty() {
            // The request was sent, and the client waits for the response.
            tokio::select! {
                event = stream.next() => panic!("{event:?}"),
                _ = server.request_received.recv() => {}
            }
        } else {
            assert!(matches!(stream.next().await, Some(Ok(ModelEvent::PartStart { .. }))));
        }
        assert!(server.client_left.try_recv().is_err());
        drop(stream);
        server.client_left.recv().await.unwrap();
    }
}

#[tokio::test]
async fn reports_unreachable_server_after_retries() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let provider = provider_at(listener.local_addr().unwrap(), None);
    drop(listener);
    let events = collect_events(&fast_retry_client(), &provider).await;
    assert_eq!(retry_delays(&events).len(), 4);
    let ModelError::Unreachable(reason) = last_error(&events) else { panic!("{events:?}") };
    assert!(reason.ends_with("refused") && !reason.contains("127.0.0.1"), "{reason}");
    assert!(matches!(fast_retry_client().list_models(&provider).await, Err(ModelError::Unreachable(_))));
}

#[tokio::test]
async fn lists_models() {
    let server = ScriptedServer::start([
        http_response("200 OK", "", r#"{"object":"list","data":[{"id":"small"},{"id":"org/large"}]}"#),
        http_response("401 Unauthorized", "", r#"{"error":{"message":"bad key sk-secret"}}"#),
        http_response("200 OK", "", "<html></html>"),
    ])
    .await;
    let (client, provider) = (fast_retry_client(), server.provider(Some("sk-secret")));
    assert_eq!(client.list_models(&provider).await.unwrap(), ["small", "org/large"]);
    assert_eq!(client.list_models(&provider).await, Err(ModelError::Unauthorized("bad key [key]".to_owned())));
    assert!(matches!(client.list_models(&provider).await, Err(ModelError::Malformed(_))));
    assert!(server.take_requests()[0].head.starts_with("GET /v1/models HTTP/1.1\r\n"));
}
