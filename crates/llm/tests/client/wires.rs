//! What differs from wire to wire on the way: paths, keys, the list of models, and what is tried again.

use domain::model::{FinishReason, ModelError, ModelEvent, ModelFile, ModelMessage, Request, ToolSpec};
use futures_util::StreamExt;
use llm::Wire;
use serde_json::{Value, json};

use crate::scripted::{STREAM_HEAD, Server, Step, answer, good};
use crate::{ask, eager, error_of, question, text_of, waits_of};

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
    Step::Say(format!("{STREAM_HEAD}{body}"))
}

fn refused(status: &str, headers: &str, message: &str) -> Step {
    answer(status, headers, &json!({ "error": { "type": "t", "message": message } }).to_string())
}

#[tokio::test]
async fn every_wire_has_its_path_and_its_place_for_the_key() {
    for (wire, body, line, key) in [
        (Wire::OpenAiResponses, RESPONSES, "POST /v1/responses HTTP/1.1", "authorization: Bearer sk-test"),
        (Wire::Anthropic, ANTHROPIC, "POST /v1/messages HTTP/1.1", "x-api-key: sk-test"),
        (
            Wire::Gemini,
            GEMINI,
            "POST /v1/v1beta/models/test-model:streamGenerateContent?alt=sse HTTP/1.1",
            "x-goog-api-key: sk-test",
        ),
    ] {
        let server = Server::start([streamed(body)]).await;
        let events = ask(&eager(), &server.over(wire, Some("sk-test"))).await;
        assert_eq!(text_of(&events), "Here.", "{wire:?}");
        assert_eq!(events.last(), Some(&Ok(ModelEvent::Finish(FinishReason::Stop))));
        let head = server.seen().remove(0).head;
        let mut lines = head.lines();
        assert_eq!(lines.next(), Some(line));
        assert!(lines.any(|header| header == key), "{head}");
        assert_eq!(head.matches("sk-test").count(), 1, "{head}");
        assert_eq!(head.contains("anthropic-version: 2023-06-01"), wire == Wire::Anthropic);
    }
}

#[tokio::test]
async fn an_overloaded_provider_is_asked_again_after_the_time_it_names() {
    let overloaded = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
    let begun =
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":9}}}\n\n";
    let server = Server::start([
        refused("529 Overloaded", "retry-after-ms: 20\r\n", "Overloaded"),
        streamed(&format!("{begun}{overloaded}")),
        streamed(ANTHROPIC),
    ])
    .await;
    let events = ask(&eager(), &server.over(Wire::Anthropic, None)).await;
    assert_eq!(text_of(&events), "Here.");
    let waits = waits_of(&events);
    assert!(waits.len() == 2 && waits[0] >= 20, "{waits:?}");
}

#[tokio::test]
async fn what_a_model_refuses_is_asked_of_it_only_once() {
    let server = Server::start([
        refused("400 Bad Request", "", "adaptive thinking is not supported on this model"),
        refused("400 Bad Request", "", "test-model does not support thinking"),
        streamed(ANTHROPIC),
        streamed(ANTHROPIC),
    ])
    .await;
    let (client, provider) = (eager(), server.over(Wire::Anthropic, None));
    for _ in 0..2 {
        assert_eq!(text_of(&ask(&client, &provider).await), "Here.");
    }
    let asked: Vec<Value> = server.seen().iter().map(|seen| seen.body["thinking"]["type"].clone()).collect();
    assert_eq!(asked, [json!("adaptive"), json!("enabled"), Value::Null, Value::Null]);
}

#[tokio::test]
async fn a_model_without_tools_answers_without_them_and_that_is_said() {
    let refusal = "registry.ollama.ai/library/gemma:2b does not support tools";
    let server = Server::start([refused("400 Bad Request", "", refusal), good("Here."), good("Here.")]).await;
    let (client, provider) = (eager(), server.provider(None));
    let tool = ToolSpec { name: "clock".into(), description: String::new(), input_schema: json!({}) };
    for _ in 0..2 {
        let request = Request { tools: vec![tool.clone()], ..question() };
        let events: Vec<_> = client.stream(&provider, request).collect().await;
        assert!(matches!(events.first(), Some(Ok(ModelEvent::Notice(_)))), "{events:?}");
        assert_eq!(text_of(&events), "Here.");
    }
    let asked: Vec<bool> = server.seen().iter().map(|seen| seen.body.get("tools").is_some()).collect();
    assert_eq!(asked, [true, false, false]);
}

#[tokio::test]
async fn a_model_that_takes_no_pictures_answers_without_them_and_that_is_said() {
    let text = "What is it?".to_owned();
    let picture = ModelFile { name: None, media_type: "image/png".into(), bytes: [1].as_slice().into() };
    let message = ModelMessage::User { text, files: vec![picture] };
    let shown = || Request { messages: vec![message.clone()], ..question() };
    let told = |events: &[Result<ModelEvent, ModelError>]| match events.first() {
        Some(Ok(ModelEvent::Notice(text))) => text.clone(),
        other => panic!("{other:?}"),
    };
    let no_pictures = "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj";
    let server = Server::start([
        refused("400 Bad Request", "", "Could not process image"),
        good("Here."),
        refused("500 Internal Server Error", "", no_pictures),
        good("Here."),
        good("Here."),
    ])
    .await;
    let (client, provider) = (eager(), server.provider(None));
    for want in ["Could not process image", "takes no pictures", "takes no pictures"] {
        let events: Vec<_> = client.stream(&provider, shown()).collect().await;
        assert!(told(&events).contains(want), "{events:?}");
        assert_eq!(text_of(&events), "Here.");
    }
    let asked = server.seen().iter().map(|seen| seen.body["messages"][0]["content"].is_array()).collect::<Vec<_>>();
    // One that cannot be read says nothing about the next one; a model that takes none is not asked again.
    assert_eq!(asked, [true, false, true, false, false]);
}

#[tokio::test]
async fn a_wait_named_in_the_body_is_kept() {
    let body = json!({ "error": { "code": 429, "message": "m", "details": [{ "retryDelay": "0.04s" }] } });
    let server = Server::start([answer("429 Too Many Requests", "", &body.to_string()), streamed(GEMINI)]).await;
    let events = ask(&eager(), &server.over(Wire::Gemini, None)).await;
    assert!(matches!(waits_of(&events)[..], [wait] if wait >= 40), "{events:?}");
    assert_eq!(text_of(&events), "Here.");
}

#[tokio::test]
async fn a_refusal_that_nothing_would_help_is_told() {
    for wire in [Wire::OpenAiResponses, Wire::Anthropic, Wire::Gemini] {
        let server = Server::start([refused("400 Bad Request", "", "no such thing")]).await;
        let events = ask(&eager(), &server.over(wire, None)).await;
        assert_eq!(error_of(&events), &ModelError::Refused("no such thing".to_owned()));
    }
}

#[tokio::test]
async fn the_models_of_every_wire_are_listed() {
    for (wire, body, line) in [
        (Wire::OpenAiResponses, r#"{"data":[{"id":"one"},{"id":"whisper-1"}]}"#, "GET /v1/models HTTP/1.1"),
        (
            Wire::Anthropic,
            r#"{"data":[{"type":"model","id":"one","display_name":"One"}],"has_more":false}"#,
            "GET /v1/models?limit=1000 HTTP/1.1",
        ),
        (
            Wire::Gemini,
            r#"{"models":[{"name":"models/one","supportedGenerationMethods":["generateContent"]}]}"#,
            "GET /v1/v1beta/models?pageSize=1000 HTTP/1.1",
        ),
    ] {
        let server = Server::start([answer("200 OK", "", body)]).await;
        assert_eq!(eager().list_models(&server.over(wire, Some("k"))).await.unwrap(), ["one"]);
        assert!(server.seen()[0].head.starts_with(line), "{wire:?}");
    }
}
