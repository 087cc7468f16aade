//! Operations of the OpenAPI document, described by the signatures of handlers: extractors describe parameters and
//! request bodies ([`OperationInput`]), return types describe responses ([`OperationOutput`]).

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{AppendHeaders, NoContent, Redirect};
use schemars::JsonSchema;
use serde_json::{Map, Value, json};

use super::schemas::SchemaRegistry;

/// Media type of JSON.
const JSON: &str = "application/json";

/// An OpenAPI operation under construction.
#[derive(Debug)]
pub struct Operation<'a> {
    schemas: &'a mut SchemaRegistry,
    parameters: Vec<Value>,
    request_body: Option<Value>,
    responses: Map<String, Value>,
}

impl<'a> Operation<'a> {
    /// Creates an operation without parameters, body and responses. Its schemas are added to `schemas`.
    pub fn new(schemas: &'a mut SchemaRegistry) -> Self {
        Self { schemas, parameters: Vec::new(), request_body: None, responses: Map::new() }
    }

    /// Adds a query parameter for each field of `T`.
    pub fn add_query<T: JsonSchema>(&mut self) {
        self.parameters.extend(self.schemas.query_parameters::<T>());
    }

    /// Adds an optional header of the request.
    pub fn add_request_header(&mut self, name: &str, schema: Value) {
        self.parameters.push(json!({ "name": name, "in": "header", "schema": schema }));
    }

    /// Returns the schema of a response type, or a reference to it: for responses whose schema is written manually.
    pub fn response_schema<T: JsonSchema>(&mut self) -> Value {
        self.schemas.response_schema::<T>().0
    }

    /// Sets the request body: required JSON of the type `T`.
    pub fn set_json_body<T: JsonSchema>(&mut self) {
        let schema = self.schemas.request_schema::<T>();
        self.set_body(JSON, schema);
    }

    /// Sets the request body: JSON of the type `T`, which may be left out.
    pub fn set_optional_json_body<T: JsonSchema>(&mut self) {
        let schema = self.schemas.request_schema::<T>();
        self.request_body = Some(json!({ "required": false, "content": { JSON: { "schema": schema } } }));
    }

    /// Sets the request body: required content of this media type.
    pub fn set_body(&mut self, media_type: &str, schema: Value) {
        self.request_body = Some(json!({ "required": true, "content": { media_type: { "schema": schema } } }));
    }

    /// Adds a response without content, unless there is one of the same status.
    pub fn add_response(&mut self, status: StatusCode, description: &str) -> &mut Value {
        add_response(&mut self.responses, status.as_str(), description)
    }

    /// Adds a response of this media type. A status can have several.
    pub fn add_content(&mut self, status: StatusCode, description: &str, media_type: &str, schema: Value) {
        self.add_response(status, description)["content"][media_type] = json!({ "schema": schema });
    }

    /// Adds a JSON response, described by the documentation of the type `T`.
    pub fn add_json<T: JsonSchema>(&mut self, status: StatusCode) {
        let (schema, description) = self.schemas.response_schema::<T>();
        let description = description.as_deref().or(status.canonical_reason()).unwrap_or_default();
        self.add_content(status, description, JSON, schema);
    }

    /// Adds a header that every response of this status has.
    pub fn add_response_header(&mut self, status: StatusCode, name: &str) {
        self.add_response(status, status.canonical_reason().unwrap_or_default())["headers"][name] =
            json!({ "required": true, "schema": { "type": "string" } });
    }

    /// Sets the JSON response of all errors whose status has no response of its own. The error of the handler, which
    /// is described last, replaces those of the extractors: the handler converts them.
    pub fn set_error<T: JsonSchema>(&mut self) {
        let (schema, description) = self.schemas.response_schema::<T>();
        let description = description.as_deref().unwrap_or("Error");
        let response = json!({ "description": description, "content": { JSON: { "schema": schema } } });
        self.responses.insert("default".into(), response);
    }

    /// Returns the OpenAPI operation.
    pub fn finish(self, summary: &str) -> Value {
        let Self { parameters, request_body, responses, .. } = self;
        let mut operation = json!({ "summary": summary, "parameters": parameters, "responses": responses });
        if let Some(body) = request_body {
            operation["requestBody"] = body;
        }
        operation
    }
}

fn add_response<'a>(responses: &'a mut Map<String, Value>, status: &str, description: &str) -> &'a mut Value {
    responses.entry(status).or_insert_with(|| json!({ "description": description }))
}

/// An extractor that describes the part of the request that it reads.
pub trait OperationInput {
    /// Adds the parameters or the body, and the response to a request that is rejected.
    fn describe(operation: &mut Operation<'_>);
}

/// A part of a response type that describes its responses.
pub trait OperationOutput {
    /// Adds the responses.
    fn describe(operation: &mut Operation<'_>);
}

/// A handler whose operation follows from its signature.
#[diagnostic::on_unimplemented(
    message = "the OpenAPI document cannot describe this handler",
    note = "every argument needs `OperationInput`, and the response `OperationOutput`"
)]
pub trait OperationHandler<Inputs, Output> {
    /// Adds everything that the signature says.
    fn describe(operation: &mut Operation<'_>);
}

macro_rules! describe_handlers {
    ($(($($input:ident),*);)+) => {$(
        impl<Handler, Output, Outcome, $($input),*> OperationHandler<($($input,)*), Outcome> for Handler
        where
            Handler: Fn($($input),*) -> Output,
            Output: Future<Output = Outcome>,
            Outcome: OperationOutput,
            $($input: OperationInput,)*
        {
            fn describe(operation: &mut Operation<'_>) {
                $($input::describe(operation);)*
                Outcome::describe(operation);
            }
        }
    )+};
}

describe_handlers! {
    ();
    (A);
    (A, B);
    (A, B, C);
    (A, B, C, D);
    (A, B, C, D, E);
    (A, B, C, D, E, F);
    (A, B, C, D, E, F, G);
    (A, B, C, D, E, F, G, H);
}

/// A part of the server, which the request does not name.
impl<T> OperationInput for State<T> {
    fn describe(_operation: &mut Operation<'_>) {}
}

/// An extractor whose rejection the handler converts to its own error.
impl<T: OperationInput, E> OperationInput for Result<T, E> {
    fn describe(operation: &mut Operation<'_>) {
        T::describe(operation);
    }
}

/// The route names the method.
impl OperationInput for Method {
    fn describe(_operation: &mut Operation<'_>) {}
}

/// Headers that every client sends by itself.
impl OperationInput for HeaderMap {
    fn describe(_operation: &mut Operation<'_>) {}
}

impl<T: JsonSchema> OperationOutput for Json<T> {
    fn describe(operation: &mut Operation<'_>) {
        operation.add_json::<T>(StatusCode::OK);
    }
}

impl OperationOutput for NoContent {
    fn describe(operation: &mut Operation<'_>) {
        operation.add_response(StatusCode::NO_CONTENT, "Done.");
    }
}

impl OperationOutput for Redirect {
    fn describe(operation: &mut Operation<'_>) {
        operation.add_response_header(StatusCode::SEE_OTHER, "Location");
    }
}

/// A response with further headers, which are not described.
impl<H, T: OperationOutput> OperationOutput for (AppendHeaders<H>, T) {
    fn describe(operation: &mut Operation<'_>) {
        T::describe(operation);
    }
}

impl<T: OperationOutput, E: OperationOutput> OperationOutput for Result<T, E> {
    fn describe(operation: &mut Operation<'_>) {
        T::describe(operation);
        E::describe(operation);
    }
}
