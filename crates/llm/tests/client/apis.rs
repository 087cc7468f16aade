//! Differences between provider APIs over HTTP: paths, keys, model lists and retries.

use domain::model::{FinishReason, ModelError, ModelEvent, ModelFile, ModelMessage, Request, ToolSpec};
use futures_util::StreamExt;
use llm::ProviderApi;
use serde_json::{Value, json};

use crate::scripted_server::{STREAM_HEAD, ScriptedServer, Step, complete_response, http_response};
use crate::{collect_events, fast_retry_client, joined_text, last_error, retry_delays, simple_request};

const ANTHROPIC: &str = concat!(
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,",
    "\"delta\":{\"type\":\"text_delta\",\"text\":\"Here.\"}}\n\n",
    "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n",
    "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
);
const RESPONSES: &str = concat!(
    "data: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"delta\":\"Here.\"}\n\n",
    "data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\"}}\n\n",
);
const GEMINI: &str =
    "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"Here.\"}]},\"finishReason\":\"STOP\"}]}\n\n";

fn streamed(body: &str) -> Step {
    Step::Send(format!("{STREAM_HEAD}{body}"))
}

fn refused(status: &str, headers: &str, message: &str) -> Step {
    http_response(status, headers, &json!({ "error": { "type": "t", "message": message } }).to_string())
}

#[tokio::test]
async fn uses_path_and_key_header_of_each_api() {
    for (api, body, line, key) in [
        (ProviderApi::OpenAiResponses, RESPONSES, "POST /v1/responses HTTP/1.1", "authorization: Bearer sk-test"),
        (ProviderApi::Anthropic, ANTHROPIC, "POST /v1/messages HTTP/1.1", "x-api-key: sk-test"),
        (
            ProviderApi::Gemini,
            GEMINI,
            "POST /v1/v1beta/models/test-model:streamGenerateContent?alt=sse HTTP/1.1",
            "x-goog-api-key: sk-test",
        ),
    ] {
        let server = ScriptedServer::start([streamed(body)]).await;
        let events = collect_events(&fast_retry_client(), &server.with_api(api, Some("sk-test"))).await;
        assert_eq!(joined_text(&events), "Here.", "{api:?}");
        assert_eq!(events.last(), Some(&Ok(ModelEvent::Finish(FinishReason::Stop))));
        let head = server.take_requests().remove(0).head;
        let mut lines = head.lines();
        assert_eq!(lines.next(), Some(line));
        assert!(lines.any(|header| header == key), "{head}");
        assert_eq!(head.matches("sk-test").count(), 1, "{head}");
        assert_eq!(head.contains("anthropic-version: 2023-06-01"), api == ProviderApi::Anthropic);
    }
}

#[tokio::test]
async fn retries_overloaded_provider_after_requested_delay() {
    let overloaded = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
    let begun =
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":9}}}\n\n";
    let server = ScriptedServer::start([
        refused("529 Overloaded", "retry-after-ms: 20\r\n", "Overloaded"),
        streamed(&format!("{begun}{overloaded}")),
        streamed(ANTHROPIC),
    ])
    .await;
    let events = collect_events(&fast_retry_client(), &server.with_api(ProviderApi::Anthropic, None)).await;
    assert_eq!(joined_text(&events), "Here.");
    let waits = retry_delays(&events);
    assert!(waits.len() == 2 && waits[0] >= 20, "{waits:?}");
}

#[tokio::test]
async fn remembers_refusals_of_a_model() {
    let server = ScriptedServer::start([
        refused("400 Bad Request", "", "adaptive thinking is not supported on this model"),
        refused("400 Bad Request", "", "test-model does not support thinking"),
        streamed(ANTHROPIC),
        streamed(ANTHROPIC),
    ])
    .await;
    let (client, provider) = (fast_retry_client(), server.with_api(ProviderApi::Anthropic, None));
    for _ in 0..2 {
        assert_eq!(joined_text(&collect_events(&client, &provider).await), "Here.");
    }
    let sent: Vec<Value> = server.take_requests().iter().map(|seen| seen.body["thinking"]["type"].clone()).collect();
    assert_eq!(sent, [json!("adaptive"), json!("enabled"), Value::Null, Value::Null]);
}

#[tokio::test]
async fn omits_refused_tools_and_notifies() {
    let refusal = "registry.ollama.ai/library/gemma:2b does not support tools";
    let server = ScriptedServer::start([
        refused("400 Bad Request", "", refusal),
        complete_response("Here."),
        complete_response("Here."),
    ])
    .await;
    let (client, provider) = (fast_retry_client(), server.provider(None));
    let tool = ToolSpec { name: "clock".into(), description: String::new(), input_schema: json!({}) };
    for _ in 0..2 {
        let request = Request { tools: vec![tool.clone()], ..simple_request() };
        let events: Vec<_> = client.stream(&provider, request).collect().await;
        assert!(matches!(events.first(), Some(Ok(ModelEvent::Notice(_)))), "{events:?}");
        assert_eq!(joined_text(&events), "Here.");
    }
    let sent: Vec<bool> = server.take_requests().iter().map(|seen| seen.body.get("tools").is_some()).collect();
    assert_eq!(sent, [true, false, false]);
}

#[tokio::test]
async fn omits_refused_pictures_and_notifies() {
    let text = "What is it?".to_owned();
    let picture = ModelFile { name: None, media_type: "image/png".into(), bytes: [1].as_slice().into() };
    let message = ModelMessage::User { text, files: vec![picture] };
    let shown = || Request { messages: vec![message.clone()], ..simple_request() };
    let notice = |events: &[Result<ModelEvent, ModelError>]| match events.first() {
        Some(Ok(ModelEvent::Notice(text))) => text.clone(),
        other => panic!("{other:?}"),
    };
    let no_pictures = "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj";
    let server = ScriptedServer::start([
        refused("400 Bad Request", "", "Could not process image"),
        complete_response("Here."),
        refused("500 Internal Server Error", "", no_pictures),
        complete_response("Here."),
        complete_response("Here."),
    ])
    .await;
    let (client, provider) = (fast_retry_client(), server.provider(None));
    for want in ["Could not process image", "does not support pictures", "does not support pictures"] {
        let events: Vec<_> = client.stream(&provider, shown()).collect().await;
        assert!(notice(&events).contains(want), "{events:?}");
        assert_eq!(joined_text(&events), "Here.");
    }
    let sent =
        server.take_requests().iter().map(|seen| seen.body["messages"][0]["content"].is_array()).collect::<Vec<_>>();
    // An invalid picture says nothing about the next one; a model without pictures is not sent any again.
    assert_eq!(sent, [true, false, true, false, false]);
}

#[tokio::test]
async fn respects_retry_delay_in_body() {
    let body = json!({ "error": { "code": 429, "message": "m", "details": [{ "retryDelay": "0.04s" }] } });
    let server =
        ScriptedServer::start([http_response("429 Too Many Requests", "", &body.to_string()), streamed(GEMINI)]).await;
    let events = collect_events(&fast_retry_client(), &server.with_api(ProviderApi::Gemini, None)).await;
    assert!(matches!(retry_delays(&events)[..], [wait] if wait >= 40), "{events:?}");
    assert_eq!(joined_text(&events), "Here.");
}

#[tokio::test]
async fn returns_refusal_that_no_adjustment_resolves() {
    for api in [ProviderApi::OpenAiResponses, ProviderApi::Anthropic, ProviderApi::Gemini] {
        let server = ScriptedServer::start([refused("400 Bad Request", "", "no such thing")]).await;
        let events = collect_events(&fast_retry_client(), &server.with_api(api, None)).await;
        assert_eq!(last_error(&events), &ModelError::Refused("no such thing".to_owned()));
    }
}

#[tokio::test]
async fn lists_models_of_each_api() {
    for (api, body, line) in [
        (ProviderApi::OpenAiResponses, r#"{"data":[{"id":"one"},{"id":"whisper-1"}]}"#, "GET /v1/models HTTP/1.1"),
        (
            ProviderApi::Anthropic,
            r#"{"data":[{"type":"model","id":"one","display_name":"One"}],"has_more":false}"#,
            "GET /v1/models?limit=1000 HTTP/1.1",
        ),
        (
            ProviderApi::Gemini,
            r#"{"models":[{"name":"models/one","supportedGenerationMethods":["generateContent"]}]}"#,
            "GET /v1/v1beta/models?pageSize=1000 HTTP/1.1",
        ),
    ] {
        let server = ScriptedServer::start([http_response("200 OK", "", body)]).await;
        assert_eq!(fast_retry_client().list_models(&server.with_api(api, Some("k"))).await.unwrap(), ["one"]);
        assert!(server.take_requests()[0].head.starts_with(line), "{api:?}");
    }
}
