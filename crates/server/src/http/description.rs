//! `GET /api/openapi.json`: the API in OpenAPI 3.1.
//!
//! What a call takes and gives back is written by hand, one file a section. Which calls there are and who may call them
//! comes from the route table, so it cannot be wrong.

use axum::Json;
use http::Method;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::error::ApiError;
use super::route::{Access, Entry};

/// The sections, by the beginning of their paths. The last one that fits is a route's own.
const SECTIONS: [(&str, &str); 9] = [
    ("/", include_str!("description/root.json")),
    ("/auth/v1", include_str!("description/auth.json")),
    ("/auth/v1/admin", include_str!("description/admin.json")),
    ("/rest/v1", include_str!("description/rest.json")),
    ("/v1", include_str!("description/door.json")),
    ("/v1/files", include_str!("description/files.json")),
    ("/functions/v1", include_str!("description/functions.json")),
    ("/api", include_str!("description/api.json")),
    ("/mcp", include_str!("description/mcp.json")),
];

/// A section as it is written.
#[derive(Deserialize)]
struct Section {
    /// What it is for.
    description: String,
    /// Every answer that is no success: an OpenAPI response.
    refusal: Value,
    /// Calls by path and method.
    paths: Map<String, Value>,
    /// Shapes by name.
    schemas: Map<String, Value>,
    /// Answers that several calls give, by name.
    #[serde(default)]
    responses: Map<String, Value>,
}

/// `GET /openapi.json`
pub async fn show() -> Result<Json<Value>, ApiError> {
    let document = document(&super::entries()).map_err(|error| ApiError::Internal(error.into()))?;
    Ok(Json(document))
}

/// The calls that are written down: path and method.
pub fn written() -> serde_json::Result<Vec<(String, Method)>> {
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

/// The whole document, for these routes.
fn document(entries: &[Entry]) -> serde_json::Result<Value> {
    let (mut paths, mut schemas, mut responses, mut tags) = (Map::new(), Map::new(), Map::new(), Vec::new());
    for (prefix, text) in SECTIONS {
        let section: Section = serde_json::from_str(text)?;
        tags.push(json!({ "name": prefix, "description": section.description }));
        for entry in entries.iter().filter(|entry| section_of(&entry.path) == prefix) {
            let method = entry.method.as_str().to_lowercase();
            let Some(call) = section.paths.get(&entry.path).and_then(|calls| calls.get(&method)) else { continue };
            paths.entry(&entry.path).or_insert_with(|| json!({}))[method] =
                completed(call.clone(), entry, prefix, &section);
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

fn section_of(path: &str) -> &'static str {
    let fits = |prefix: &str| path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    SECTIONS.iter().rev().map(|(prefix, _)| *prefix).find(|prefix| fits(prefix)).unwrap_or("/")
}

/// A call with what all calls have.
fn completed(mut call: Value, entry: &Entry, tag: &str, section: &Section) -> Value {
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

fn security(access: Access) -> Value {
    match access {
        Access::Anyone => json!([]),
        Access::OwnRows => json!([{}, { "person": [] }]),
        Access::SignedIn | Access::FirstFactor | Access::Owner | Access::OwnToken => json!([{ "person": [] }]),
        Access::Admin => json!([{ "administrator": [] }]),
    }
}
