//! `GET /api/openapi.json`: the API as an OpenAPI 3.1 document.
//!
//! Request and response shapes are maintained in one JSON file per section. Paths, methods and authentication come
//! from the route table, and a test compares both.

use axum::Json;
use http::Method;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::error::ApiError;
use super::route::{Access, Entry};

/// The description of each section by path prefix. The last matching prefix is the section of a route.
const SECTIONS: [(&str, &str); 9] = [
    ("/", include_str!("openapi/root.json")),
    ("/auth/v1", include_str!("openapi/auth.json")),
    ("/auth/v1/admin", include_str!("openapi/admin.json")),
    ("/rest/v1", include_str!("openapi/rest.json")),
    ("/v1", include_str!("openapi/openai.json")),
    ("/v1/files", include_str!("openapi/files.json")),
    ("/functions/v1", include_str!("openapi/functions.json")),
    ("/api", include_str!("openapi/api.json")),
    ("/mcp", include_str!("openapi/mcp.json")),
];

/// A section's description file.
#[derive(Deserialize)]
struct Section {
    /// Text of the section's tag.
    description: String,
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

/// Returns the OpenAPI document.
pub async fn get_document() -> Result<Json<Value>, ApiError> {
    let document = document(&super::entries()).map_err(|error| ApiError::Internal(error.into()))?;
    Ok(Json(document))
}

/// Returns path and method of every described operation, for the test that compares them with the route table.
pub fn list_operations() -> serde_json::Result<Vec<(String, Method)>> {
    let mut written = Vec::new();
    for (_, text) in SECTIONS {
        let section: Section = serde_json::from_str(text)?;
        for (path, calls) in &section.paths {
            let methods = calls.as_object().into_iter().flat_map(Map::keys);
            written.extend(methods.filter_map(|method| Some((path.clone(), method.to_uppercase().parse().ok()?))));
        }
    }
    Ok(written)
}

/// Builds the document for these routes.
fn document(entries: &[Entry]) -> serde_json::Result<Value> {
    let (mut paths, mut schemas, mut responses, mut tags) = (Map::new(), Map::new(), Map::new(), Vec::new());
    for (prefix, text) in SECTIONS {
        let section: Section = serde_json::from_str(text)?;
        tags.push(json!({ "name": prefix, "description": section.description }));
        for entry in entries.iter().filter(|entry| section_of(&entry.path) == prefix) {
            let method = entry.method.as_str().to_lowercase();
            // The undescribed route is left out here; the test reports it.
            let Some(call) = section.paths.get(&entry.path).and_then(|calls| calls.get(&method)) else { continue };
            paths.entry(&entry.path).or_insert_with(|| json!({}))[method] =
                complete_operation(call.clone(), entry, prefix, &section);
        }
        schemas.extend(section.schemas);
        responses.extend(section.responses);
    }
    Ok(json!({
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
            "schemas": schemas,
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
    }))
}

/// Returns the prefix of the section that a path belongs to.
fn section_of(path: &str) -> &'static str {
    let fits = |prefix: &str| path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    SECTIONS.iter().rev().map(|(prefix, _)| *prefix).find(|prefix| fits(prefix)).unwrap_or("/")
}

/// Adds to an operation what all of its section share: tag, security, the error response and the path parameters.
fn complete_operation(mut call: Value, entry: &Entry, tag: &str, section: &Section) -> Value {
    call["tags"] = json!([tag]);
    call["security"] = security(entry.access);
    call["responses"]["default"] = section.refusal.clone();
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
