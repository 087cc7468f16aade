//! One conversation with files, encoded for each API.

use crate::providers::WireFormat;
use domain::model::{ModelCall, ReasoningBlock, Signature};
use serde_json::{Value, json};

use super::*;

/// Returns a picture of one byte.
fn picture(name: &str, byte: u8) -> ModelFile {
    ModelFile { name: Some(name.to_owned()), media_type: "image/png".to_owned(), bytes: [byte].as_slice().into() }
}

/// Returns a conversation in which the user attaches a picture and a document, a tool returns a picture, and the model
/// generates two pictures, one of them signed.
fn conversation() -> Request {
    let pdf = ModelFile { name: None, media_type: "application/pdf".to_owned(), bytes: [2].as_slice().into() };
    let call = ModelCall { id: "a".to_owned(), name: "camera".to_owned(), arguments: "{}".to_owned() };
    let drawn = [picture("drawn", 4), picture("signed", 5)];
    let data = json!({ "picture": content_hash(&drawn[1].bytes), "signature": "s" });
    let signature = Signature { wire: "gemini".to_owned(), model: "m".to_owned(), data };
    Request {
        model: "m".to_owned(),
        messages: vec![
            ModelMessage::User { text: "What is it?".to_owned(), files: vec![picture("it", 1), pdf] },
            ModelMessage::assistant("", vec![call]),
            ModelMessage::ToolResult {
                call_id: "a".to_owned(),
                name: "camera".to_owned(),
                text: "done".to_owned(),
                is_error: false,
                files: vec![picture("shot", 3)],
            },
            ModelMessage::Assistant {
                reasoning_blocks: vec![ReasoningBlock { calls_before: 0, text: String::new(), signature }],
                text: String::new(),
                calls: Vec::new(),
                files: drawn.into(),
            },
            ModelMessage::user("Thanks"),
        ],
        image_output: true,
        ..Request::default()
    }
}

const OF_TOOL: &str = "[What follows is no message of the person: the tool camera gave it back in the call a.]";
const OF_MODEL: &str = "[What follows is no message of the person: you made it in your answer above.]";

fn encoded_field(api: ProviderApi, field: &str, adjustments: RequestAdjustments) -> (Value, Value) {
    let body: Value = serde_json::from_slice(&api.encode(&conversation(), adjustments).unwrap().body).unwrap();
    (body[field].clone(), body)
}

fn plain() -> RequestAdjustments {
    RequestAdjustments { text_only_results: true, omit_picture_output: true, ..RequestAdjustments::default() }
}

#[test]
fn chat_completions_send_files_in_user_messages() {
    let image =
        |data: &str| json!({ "type": "image_url", "image_url": { "url": format!("data:image/png;base64,{data}") } });
    let text = |text: &str| json!({ "type": "text", "text": text });
    let (messages, body) = encoded_field(ProviderApi::OpenAiChat, "messages", RequestAdjustments::default());
    let file = json!({ "filename": "document.pdf", "file_data": "data:application/pdf;base64,Ag==" });
    let call = json!({ "id": "a", "type": "function", "function": { "name": "camera", "arguments": "{}" } });
    assert_eq!(
        messages,
        json!([
            { "role": "user", "content": [image("AQ=="), { "type": "file", "file": file }, text("What is it?")] },
            { "role": "assistant", "content": null, "tool_calls": [call] },
            { "role": "tool", "tool_call_id": "a", "content": "done" },
            { "role": "user", "content": [
                text(OF_TOOL), image("Aw=="), text(OF_MODEL), image("BA=="), image("BQ=="), text("Thanks"),
            ] },
        ])
    );
    assert_eq!(body["modalities"], json!(["image", "text"]));
    assert_eq!(encoded_field(ProviderApi::OpenAiChat, "modalities", plain()).0, Value::Null);
}

#[test]
fn responses_send_files_in_results() {
    let image = |data: &str| json!({ "type": "input_image", "detail": "auto", "image_url": format!("data:image/png;base64,{data}") });
    let text = |text: &str| json!({ "type": "input_text", "text": text });
    let user = |content: Value| json!({ "type": "message", "role": "user", "content": content });
    let file =
        json!({ "type": "input_file", "filename": "document.pdf", "file_data": "data:application/pdf;base64,Ag==" });
    let (input, body) = encoded_field(ProviderApi::OpenAiResponses, "input", RequestAdjustments::default());
    let output = |output: Value| json!({ "type": "function_call_output", "call_id": "a", "output": output });
    let last = user(json!([text(OF_MODEL), image("BA=="), image("BQ=="), text("Thanks")]));
    let begin = [
        user(json!([image("AQ=="), file, text("What is it?")])),
        json!({ "type": "function_call", "call_id": "a", "name": "camera", "arguments": "{}" }),
    ];
    let [first, called] = begin;
    assert_eq!(input, json!([first, called, output(json!([text("done"), image("Aw==")])), last]));
    assert_eq!(body["tools"], json!([{ "type": "image_generation" }]));
    let (input, body) = encoded_field(ProviderApi::OpenAiResponses, "input", plain());
    let aside = user(json!([text(OF_TOOL), image("Aw==")]));
    assert_eq!(input, json!([first, called, output(json!("done")), aside, last]));
    assert_eq!(body.get("tools"), None);
}

#[test]
fn messages_send_files_in_results_and_keep_cache_breakpoints() {
    let source = |kind: &str, data: &str| json!({ "type": "base64", "media_type": kind, "data": data });
    let image = |data: &str| json!({ "type": "image", "source": source("image/png", data) });
    let text = |text: &str| json!({ "type": "text", "text": text });
    let mark = json!({ "type": "ephemeral" });
    let pdf = json!({ "type": "document", "source": source("application/pdf", "Ag==") });
    let result = json!({ "type": "tool_result", "tool_use_id": "a", "content": [text("done"), image("Aw==")] });
    let mut first = text("What is it?");
    let mut last = text("Thanks");
    first["cache_control"] = mark.clone();
    last["cache_control"] = mark;
    let called = json!({ "type": "tool_use", "id": "a", "name": "camera", "input": {} });
    assert_eq!(
        encoded_field(ProviderApi::Anthropic, "messages", RequestAdjustments::default()).0,
        json!([
            { "role": "user", "content": [image("AQ=="), pdf, first] },
            { "role": "assistant", "content": [called] },
            { "role": "user", "content": [result, text(OF_MODEL), image("BA=="), image("BQ=="), last] },
        ])
    );
    let result = json!({ "type": "tool_result", "tool_use_id": "a", "content": "done" });
    let beside = encoded_field(ProviderApi::Anthropic, "messages", plain()).0;
    assert_eq!(beside[2]["content"].as_array().unwrap()[..3], [result, text(OF_TOOL), image("Aw==")]);
}

#[test]
fn gemini_receives_its_signed_pictures_back() {
    let image = |data: &str| json!({ "inlineData": { "mimeType": "image/png", "data": data } });
    let text = |text: &str| json!({ "text": text });
    let answer = |parts: Value| {
        let mut answer = json!({ "id": "a", "name": "camera", "response": { "output": "done" } });
        if let Value::Array(_) = parts {
            answer["parts"] = parts;
        }
        json!({ "functionResponse": answer })
    };
    let mut signed = image("BQ==");
    signed["thoughtSignature"] = json!("s");
    let pdf = json!({ "inlineData": { "mimeType": "application/pdf", "data": "Ag==" } });
    let (contents, body) = encoded_field(ProviderApi::Gemini, "contents", RequestAdjustments::default());
    assert_eq!(
        contents,
        json!([
            { "role": "user", "parts": [image("AQ=="), pdf, text("What is it?")] },
            { "role": "model", "parts": [{ "functionCall": { "id": "a", "name": "camera", "args": {} } }] },
            { "role": "user", "parts": [answer(json!([image("Aw==")]))] },
            { "role": "model", "parts": [signed] },
            { "role": "user", "parts": [text(OF_MODEL), image("BA=="), text("Thanks")] },
        ])
    );
    assert_eq!(body["generationConfig"]["responseModalities"], json!(["TEXT", "IMAGE"]));
    let (contents, body) = encoded_field(ProviderApi::Gemini, "contents", plain());
    assert_eq!(contents[2]["parts"], json!([answer(Value::Null), text(OF_TOOL), image("Aw==")]));
    assert_eq!(body["generationConfig"].get("responseModalities"), None);
}
