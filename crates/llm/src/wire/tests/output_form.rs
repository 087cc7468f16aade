//! Stop texts and response formats, in each provider API's own form.

use domain::model::{ModelError, OutputSchema, Request, ResponseFormat};
use serde_json::{Value, json};

use super::super::{Concessions, Wire};

const ALL: [Wire; 4] = [Wire::OpenAiChat, Wire::OpenAiResponses, Wire::Anthropic, Wire::Gemini];

fn body(wire: Wire, request: &Request, concessions: Concessions) -> Value {
    serde_json::from_slice(&wire.encode(request, concessions).unwrap().body).unwrap()
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
fn sends_stop_texts_where_the_api_has_them() {
    let stop = vec!["END".to_owned(), " \n".to_owned(), "###".to_owned(), "a".to_owned(), "b".to_owned()];
    let request = Request { stop, ..Request::default() };
    let none = Concessions::default();
    assert_eq!(body(Wire::OpenAiChat, &request, none)["stop"], json!(["END", " \n", "###", "a"]));
    assert_eq!(body(Wire::Anthropic, &request, none)["stop_sequences"], json!(["END", "###", "a", "b"]));
    let sent = &body(Wire::Gemini, &request, none)["generationConfig"]["stopSequences"];
    assert_eq!(sent, &json!(["END", " \n", "###", "a", "b"]));
    assert!(!body(Wire::OpenAiResponses, &request, none).to_string().contains("END"));
}

#[test]
fn omits_stop_texts_once_the_model_refused_them() {
    let refusal = "Unsupported parameter: 'stop' is not supported with this model.";
    let request = Request { stop: vec!["END".to_owned()], ..Request::default() };
    for wire in ALL {
        let made = wire.concede(refusal, Concessions::default()).unwrap();
        assert!(!body(wire, &request, made).to_string().contains("END"), "{wire:?}");
    }
    assert_eq!(Wire::OpenAiChat.concede("the server will stop now", Concessions::default()), None);
}

#[test]
fn writes_a_schema_in_the_form_of_each_api() {
    let request = Request { response_format: person(), ..Request::default() };
    let ResponseFormat::JsonSchema(OutputSchema { schema, .. }) = person() else { panic!("no schema") };
    let none = Concessions::default();
    let named = json!({ "name": "person", "description": "A person.", "schema": schema, "strict": true });
    let chat = json!({ "type": "json_schema", "json_schema": named });
    assert_eq!(body(Wire::OpenAiChat, &request, none)["response_format"], chat);
    let mut responses = named;
    responses["type"] = json!("json_schema");
    assert_eq!(body(Wire::OpenAiResponses, &request, none)["text"], json!({ "format": responses }));
    let gemini = body(Wire::Gemini, &request, none)["generationConfig"].clone();
    assert_eq!(gemini["responseMimeType"], "application/json");
    assert_eq!(gemini["responseJsonSchema"], schema);
}

#[test]
fn closes_every_object_schema_for_anthropic() {
    let request = Request { response_format: person(), ..Request::default() };
    let format = body(Wire::Anthropic, &request, Concessions::default())["output_config"]["format"].clone();
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
fn writes_json_mode_where_the_api_has_it() {
    let request = Request { response_format: ResponseFormat::JsonObject, ..Request::default() };
    let none = Concessions::default();
    assert_eq!(body(Wire::OpenAiChat, &request, none)["response_format"], json!({ "type": "json_object" }));
    assert_eq!(body(Wire::OpenAiResponses, &request, none)["text"], json!({ "format": { "type": "json_object" } }));
    let gemini = body(Wire::Gemini, &request, none)["generationConfig"].clone();
    assert_eq!(gemini["responseMimeType"], "application/json");
    assert_eq!(gemini["responseJsonSchema"], Value::Null);
    let refused = Wire::Anthropic.encode(&request, none).unwrap_err();
    assert!(matches!(refused, ModelError::Refused(reason) if reason.contains("Anthropic")));
}

#[test]
fn keeps_both_for_a_model_without_tools() {
    let stop = vec!["END".to_owned()];
    let request = Request { stop, response_format: ResponseFormat::JsonObject, ..Request::default() };
    let sent = body(Wire::OpenAiChat, &request, Concessions { without_tools: true, ..Concessions::default() });
    assert_eq!((&sent["stop"], &sent["response_format"]), (&json!(["END"]), &json!({ "type": "json_object" })));
}
