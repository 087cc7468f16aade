//! Stop sequences and response formats in each provider API.

use crate::providers::WireFormat;
use domain::model::{ModelError, OutputSchema, Request, ResponseFormat};
use serde_json::{Value, json};

use super::super::{ProviderApi, RequestAdjustments};

const ALL: [ProviderApi; 4] =
    [ProviderApi::OpenAiChat, ProviderApi::OpenAiResponses, ProviderApi::Anthropic, ProviderApi::Gemini];

fn body(api: ProviderApi, request: &Request, adjustments: RequestAdjustments) -> Value {
    serde_json::from_slice(&api.encode(request, adjustments).unwrap().body).unwrap()
}

fn person() -> ResponseFormat {
    ResponseFormat::JsonSchema(OutputSchema {
        name: "person".to_owned(),
        description: Some("A person.".to_owned()),
        schema: json!({
            "type": "object",
            "properties": {
                "name": { "type": "string" },
                "home": { "type": "object", "properties": { "city": { "type": "string" } } },
                "kind": { "const": { "type": "object" } },
            },
        }),
        strict: Some(true),
    })
}

#[test]
fn sends_stop_sequences_where_supported() {
    let stop = vec!["END".to_owned(), " \n".to_owned(), "###".to_owned(), "a".to_owned(), "b".to_owned()];
    let request = Request { stop, ..Request::default() };
    let none = RequestAdjustments::default();
    assert_eq!(body(ProviderApi::OpenAiChat, &request, none)["stop"], json!(["END", " \n", "###", "a"]));
    assert_eq!(body(ProviderApi::Anthropic, &request, none)["stop_sequences"], json!(["END", "###", "a", "b"]));
    let sent = &body(ProviderApi::Gemini, &request, none)["generationConfig"]["stopSequences"];
    assert_eq!(sent, &json!(["END", " \n", "###", "a", "b"]));
    assert!(!body(ProviderApi::OpenAiResponses, &request, none).to_string().contains("END"));
}

#[test]
fn omits_refused_stop_sequences() {
    let refusal = "Unsupported parameter: 'stop' is not supported with this model.";
    let request = Request { stop: vec!["END".to_owned()], ..Request::default() };
    for api in ALL {
        let current = api.adjust_after_refusal(refusal, RequestAdjustments::default()).unwrap();
        assert!(!body(api, &request, current).to_string().contains("END"), "{api:?}");
    }
    assert_eq!(
        ProviderApi::OpenAiChat.adjust_after_refusal("the server will stop now", RequestAdjustments::default()),
        None
    );
}

#[test]
fn encodes_output_schema_for_each_api() {
    let request = Request { response_format: person(), ..Request::default() };
    let ResponseFormat::JsonSchema(OutputSchema { schema, .. }) = person() else { panic!("no schema") };
    let none = RequestAdjustments::default();
    let named = json!({ "name": "person", "description": "A person.", "schema": schema, "strict": true });
    let chat = json!({ "type": "json_schema", "json_schema": named });
    assert_eq!(body(ProviderApi::OpenAiChat, &request, none)["response_format"], chat);
    let mut responses = named;
    responses["type"] = json!("json_schema");
    assert_eq!(body(ProviderApi::OpenAiResponses, &request, none)["text"], json!({ "format": responses }));
    let gemini = body(ProviderApi::Gemini, &request, none)["generationConfig"].clone();
    assert_eq!(gemini["responseMimeType"], "application/json");
    assert_eq!(gemini["responseJsonSchema"], schema);
}

#[test]
fn closes_every_object_schema_for_anthropic() {
    let request = Request { response_format: person(), ..Request::default() };
    let format =
        body(ProviderApi::Anthropic, &request, RequestAdjustments::default())["output_config"]["format"].clone();
    let closed = json!({
        "type": "object",
        "properties": {
            "name": { "type": "string" },
            "home": { "type": "object", "properties": { "city": { "type": "string" } }, "additionalProperties": false },
            "kind": { "const": { "type": "object" } },
        },
        "additionalProperties": false,
    });
    assert_eq!(format, json!({ "type": "json_schema", "schema": closed }));
}

#[test]
fn encodes_json_mode_where_supported() {
    let request = Request { response_format: ResponseFormat::JsonObject, ..Request::default() };
    let none = RequestAdjustments::default();
    assert_eq!(body(ProviderApi::OpenAiChat, &request, none)["response_format"], json!({ "type": "json_object" }));
    assert_eq!(
        body(ProviderApi::OpenAiResponses, &request, none)["text"],
        json!({ "format": { "type": "json_object" } })
    );
    let gemini = body(ProviderApi::Gemini, &request, none)["generationConfig"].clone();
    assert_eq!(gemini["responseMimeType"], "application/json");
    assert_eq!(gemini["responseJsonSchema"], Value::Null);
    let refused = ProviderApi::Anthropic.encode(&request, none).unwrap_err();
    assert!(matches!(refused, ModelError::Refused(reason) if reason.contains("Anthropic")));
}

#[test]
fn keeps_stop_sequences_and_format_without_tools() {
    let stop = vec!["END".to_owned()];
    let request = Request { stop, response_format: ResponseFormat::JsonObject, ..Request::default() };
    let sent = body(
        ProviderApi::OpenAiChat,
        &request,
        RequestAdjustments { omit_tools: true, ..RequestAdjustments::default() },
    );
    assert_eq!((&sent["stop"], &sent["response_format"]), (&json!(["END"]), &json!({ "type": "json_object" })));
}
