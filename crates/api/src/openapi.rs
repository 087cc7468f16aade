//! `GET /api/openapi.json`: the API as an OpenAPI 3.1 document.
//!
//! Operations follow from the route table: path, method and authentication from the entry, parameters, bodies and
//! responses from the signature of the handler. Operations without types of their own are in one JSON file per section.

use std::sync::LazyLock;

use axum::Json;
use http::Method;
use http_server::error::ApiError;
use http_server::openapi::{Operation, SchemaRegistry};
use http_server::route::{Access, Entry};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// A section of the document: the operations below a path prefix.
struct Section {
    prefix: &'static str,
    /// Text of the section's tag.
    description: &'static str,
    /// Operations and schemas that are not generated, as JSON.
    written: Option<&'static str>,
}

/// The sections of the document. The last one with a matching prefix is the section of a route.
const SECTIONS: [Section; 9] = [
    Section {
        prefix: "/",
        description: "Health checks and the keys that verify access tokens. Every path that is not described serves the page.",
        written: Some(include_str!("openapi/root.json")),
    },
    Section { prefix: "/auth/v1", description: "Accounts and sign-ins, over GoTrue's API.", written: None },
    Section {
        prefix: "/auth/v1/admin",
        description: "Accounts, for the administrator. Disabled without a service role key.",
        written: None,
    },
    Section {
        prefix: "/rest/v1",
        description: "The user's rows, over a subset of PostgREST's API. Every column can be a filter: `?title=ilike.*a*`.",
        written: Some(include_str!("openapi/rest.json")),
    },
    Section {
        prefix: "/v1",
        description: "The OpenAI-compatible API, for clients with one of the user's API keys or an access token.",
        written: None,
    },
    Section {
        prefix: "/v1/files",
        description: "Files of chats: attachments of users, results of tools, images of models.",
        written: None,
    },
    Section {
        prefix: "/functions/v1",
        description: "Asking the assistant, and asking a server for its tools.",
        written: None,
    },
    Section {
        prefix: "/api",
        description: "The product's own API: everything that is neither a row of the data API nor an account.",
        written: None,
    },
    Section {
        prefix: "/mcp",
        description: "Our own MCP servers over streamable HTTP: JSON-RPC, one message a request.",
        written: Some(include_str!("openapi/mcp.json")),
    },
];

impl Section {
    /// Parses what is not generated.
    fn read_written(&self) -> serde_json::Result<WrittenSection> {
        self.written.map_or_else(|| Ok(WrittenSection::default()), serde_json::from_str)
    }
}

/// The operations of a section that are not generated.
#[derive(Default, Deserialize)]
struct WrittenSection {
    /// OpenAPI response of every error.
    refusal: Value,
    /// OpenAPI operations by path and method.
    paths: Map<String, Value>,
    /// Schemas by name.
    schemas: Map<String, Value>,
    /// Responses that several operations share, by name.
    #[serde(default)]
    responses: Map<String, Value>,
}

/// The API as an OpenAPI 3.1 document.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(extend("type" = "object", "required" = ["openapi", "paths"]))]
pub struct OpenApiDocument(&'static Value);

/// The document, built once: anyone may request it, and to build it takes several times as long as to send it.
static DOCUMENT: LazyLock<serde_json::Result<Value>> = LazyLock::new(|| document(&super::entries()));

/// Returns the OpenAPI document.
pub async fn get_document() -> Result<Json<OpenApiDocument>, ApiError> {
    let document = DOCUMENT.as_ref().map_err(|error| ApiError::Internal(error.into()))?;
    Ok(Json(OpenApiDocument(document)))
}

/// Returns path and method of every operation, each as often as it is described: for the test that compares them
/// with the route table.
pub fn list_operations() -> serde_json::Result<Vec<(String, Method)>> {
    let mut described = Vec::new();
    for section in SECTIONS {
        let section = section.read_written()?;
        for (path, calls) in &section.paths {
            let methods = calls.as_object().into_iter().flat_map(Map::keys);
            described.extend(methods.filter_map(|method| Some((path.clone(), method.to_uppercase().parse().ok()?))));
        }
    }
    let generated = super::entries().into_iter().filter(|entry| entry.description.is_some());
    described.extend(generated.map(|entry| (entry.path, entry.method)));
    Ok(described)
}

/// Builds the document for these routes.
fn document(entries: &[Entry]) -> serde_json::Result<Value> {
    let (mut paths, mut components, mut responses, mut tags) = (Map::new(), Map::new(), Map::new(), Vec::new());
    let mut schemas = SchemaRegistry::default();
    for section @ Section { prefix, description, .. } in SECTIONS {
        let section = section.read_written()?;
        tags.push(json!({ "name": prefix, "description": description }));
        for entry in entries.iter().filter(|entry| section_of(&entry.path) == prefix) {
            let method = entry.method.as_str().to_lowercase();
            let call = if let Some(description) = entry.description {
                let mut operation = Operation::new(&mut schemas);
                (description.describe)(&mut operation);
                operation.finish(description.summary)
            } else {
                // The undescribed route is left out here; the test reports it.
                let written = section.paths.get(&entry.path).and_then(|calls| calls.get(&method));
                let Some(mut call) = written.cloned() else { continue };
                call["responses"]["default"] = section.refusal.clone();
                call
            };
            paths.entry(&entry.path).or_insert_with(|| json!({}))[method] = complete_operation(call, entry, prefix);
        }
        components.extend(section.schemas);
        responses.extend(section.responses);
    }
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "AI Chat MCP",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Fields that a call does not know are ignored, but for the columns of rows. Stable codes are for programs, messages for people.",
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "tags": tags,
        "paths": paths,
        "components": {
            "schemas": components,
            "responses": responses,
            "securitySchemes": {
                "person": {
                    "type": "http",
                    "scheme": "bearer",
                    "bearerFormat": "JWT",
                    "description": "An access token of the auth API.",
                },
                "administrator": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "The service role key.",
                },
            },
        },
    });
    schemas.finish(&mut document);
    Ok(document)
}

/// Returns the prefix of the section that a path belongs to.
fn section_of(path: &str) -> &'static str {
    let fits = |prefix: &str| path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    SECTIONS.iter().rev().map(|section| section.prefix).find(|prefix| fits(prefix)).unwrap_or("/")
}

/// Adds to an operation what follows from the entry: tag, security and the path parameters.
fn complete_operation(mut call: Value, entry: &Entry, tag: &str) -> Value {
    call["tags"] = json!([tag]);
    call["security"] = security(entry.access);
    let written = call["parameters"].take();
    let mut parameters: Vec<Value> = written.as_array().cloned().unwrap_or_default();
    for part in entry.path.split('/') {
        let Some(name) = part.strip_prefix('{').and_then(|part| part.strip_suffix('}')) else { continue };
        let is_written = parameters.iter().any(|parameter| parameter["in"] == "path" && parameter["name"] == name);
        if !is_written {
            let schema = json!({ "type": "string" });
            parameters.push(json!({ "name": name, "in": "path", "required": true, "schema": schema }));
        }
    }
    call["parameters"] = parameters.into();
    call
}

/// Returns the OpenAPI security requirement of a route.
fn security(access: Access) -> Value {
    match access {
        Access::Anyone => json!([]),
        // The empty requirement makes the token optional (OpenAPI 3.1, Security Requirement Object).
        Access::OwnRows => json!([{}, { "person": [] }]),
        Access::SignedIn | Access::FirstFactor | Access::Owner | Access::OwnToken => json!([{ "person": [] }]),
        Access::Admin => json!([{ "administrator": [] }]),
    }
}
