//! JSON schemas of request and response types, as components of the OpenAPI document.

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Value, json};

/// Path of the components that requests and responses share, and of those of responses.
const RESPONSE_COMPONENTS: &str = "#/components/schemas/";
/// Path of the components of requests until [`SchemaRegistry::finish`] has compared both.
const REQUEST_COMPONENTS: &str = "#/components/requests/";

/// The schemas of a document. A type is described separately for requests and for responses, since a field with a
/// default can be left out of a request but is in every response.
#[derive(Debug)]
pub struct SchemaRegistry {
    requests: SchemaGenerator,
    responses: SchemaGenerator,
}

impl Default for SchemaRegistry {
    /// Creates an empty registry.
    fn default() -> Self {
        let settings = SchemaSettings::draft2020_12();
        let requests = settings.clone().for_deserialize();
        let responses = settings.for_serialize().with_transform(RecursiveTransform(forbid_null_where_optional));
        Self {
            requests: requests.with(|settings| settings.definitions_path = REQUEST_COMPONENTS.into()).into_generator(),
            responses: responses
                .with(|settings| settings.definitions_path = RESPONSE_COMPONENTS.into())
                .into_generator(),
        }
    }
}

impl SchemaRegistry {
    /// Returns the schema of a request body, or a reference to it.
    pub fn request_schema<T: JsonSchema>(&mut self) -> Value {
        self.requests.subschema_for::<T>().to_value()
    }

    /// Returns the schema of a response body, or a reference to it, and the documentation of its type.
    pub fn response_schema<T: JsonSchema>(&mut self) -> (Value, Option<String>) {
        let mut schema = self.responses.subschema_for::<T>();
        for transform in self.responses.transforms_mut() {
            transform.transform(&mut schema);
        }
        let name = schema.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix(RESPONSE_COMPONENTS));
        let named = match name {
            Some(name) => self.responses.definitions().get(name),
            None => Some(schema.as_value()),
        };
        let description = named.and_then(|schema| schema.get("description")?.as_str()).map(plain_text);
        (schema.to_value(), description)
    }

    /// Returns an OpenAPI parameter for each field of the query type `T`.
    pub fn query_parameters<T: JsonSchema>(&mut self) -> Vec<Value> {
        let schema = T::json_schema(&mut self.requests).to_value();
        let is_required = |name: &str| schema["required"].as_array().is_some_and(|names| names.contains(&json!(name)));
        let fields = schema["properties"].as_object().into_iter().flatten();
        let parameters = fields.map(|(name, field)| {
            let (mut field, required) = (field.clone(), is_required(name));
            // A query has no null: the parameter is left out.
            forbid_null(&mut field);
            let description = field.as_object_mut().and_then(|field| field.remove("description"));
            let mut parameter = json!({ "name": name, "in": "query", "required": required, "schema": field });
            if let Some(description) = description {
                parameter["description"] = description;
            }
            parameter
        });
        parameters.collect()
    }

    /// Adds all components to the document, and makes its references to them final.
    pub fn finish(mut self, document: &mut Value) {
        let mut components = self.responses.take_definitions(true);
        let mut renamed = Vec::new();
        for (name, schema) in self.requests.take_definitions(true) {
            // A schema with references may refer to one that differs between requests and responses.
            let is_shared = components.get(&name).is_none_or(|other| *other == schema && !has_reference(&schema));
            let name = if is_shared {
                name
            } else {
                renamed.push(name.clone());
                format!("{name}Request")
            };
            components.insert(name, schema);
        }
        if let Some(schemas) = document["components"]["schemas"].as_object_mut() {
            schemas.append(&mut components);
        }
        finish_value(document, &renamed);
    }
}

/// Returns whether a schema refers to another.
fn has_reference(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => fields.contains_key("$ref") || fields.values().any(has_reference),
        Value::Array(items) => items.iter().any(has_reference),
        _ => false,
    }
}

/// Directs the references of requests to their components, and cleans texts.
fn finish_value(value: &mut Value, renamed: &[String]) {
    match value {
        Value::Object(fields) => {
            // The default of every optional field, which says nothing.
            if fields.get("default").is_some_and(Value::is_null) {
                fields.remove("default");
            }
            for (key, value) in fields.iter_mut() {
                let Some(text) = value.as_str() else { continue };
                if let ("$ref", Some(name)) = (key.as_str(), text.strip_prefix(REQUEST_COMPONENTS)) {
                    let ending = if renamed.iter().any(|other| other == name) { "Request" } else { "" };
                    *value = format!("{RESPONSE_COMPONENTS}{name}{ending}").into();
                } else if matches!(key.as_str(), "description" | "title") {
                    *value = plain_text(text).into();
                }
            }
            fields.values_mut().for_each(|value| finish_value(value, renamed));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| finish_value(item, renamed)),
        _ => {}
    }
}

/// Removes `null` from the optional fields of a response: an empty field is left out instead.
fn forbid_null_where_optional(schema: &mut Schema) {
    let required: Vec<Value> = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let fields = schema.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten();
    for (name, field) in fields {
        if !required.iter().any(|other| other == name) {
            forbid_null(field);
        }
    }
}

/// Removes `null` from the values that a schema permits.
fn forbid_null(schema: &mut Value) {
    let Some(schema) = schema.as_object_mut() else { return };
    if let Some(types) = schema.get_mut("type").and_then(Value::as_array_mut) {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            schema.insert("type".into(), only);
        }
    }
    if let Some(values) = schema.get_mut("enum").and_then(Value::as_array_mut) {
        values.retain(|value| !value.is_null());
    }
    if let Some(mut choices) = schema.remove("anyOf").and_then(|choices| choices.as_array().cloned()) {
        choices.retain(|choice| choice["type"] != "null");
        match choices.as_mut_slice() {
            [Value::Object(only)] => {
                // The field's own texts take precedence.
                for (key, value) in std::mem::take(only) {
                    schema.entry(key).or_insert(value);
                }
            }
            _ => _ = schema.insert("anyOf".into(), choices.into()),
        }
    }
}

/// Returns documentation as text for readers of the API: without the line breaks of the source and without links
/// to Rust items.
fn plain_text(documentation: &str) -> String {
    let paragraphs = documentation.split("\n\n").map(|paragraph| paragraph.replace('\n', " "));
    let text = paragraphs.collect::<Vec<_>>().join("\n\n");
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once('[') {
        plain.push_str(before);
        let Some((name, after_name)) = after.split_once(']') else {
            plain.push('[');
            rest = after;
            break;
        };
        let target = after_name.strip_prefix('(').and_then(|target| target.split_once(')'));
        rest = match target {
            // A link to an address of the web has a slash, a link to an item has not.
            Some((target, after_link)) if !target.contains('/') => {
                plain.push_str(name);
                after_link
            }
            None if name.starts_with('`') => {
                plain.push_str(name);
                after_name
            }
            _ => {
                plain.push('[');
                after
            }
        };
    }
    plain.push_str(rest);
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::{Deserialize, Serialize};

    /// A setting of [`Settings`], in
    /// [one unit](Setting::unit).
    #[derive(Serialize, Deserialize, JsonSchema)]
    struct Setting {
        value: u8,
        #[serde(default)]
        unit: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    }

    #[derive(Serialize, Deserialize, JsonSchema)]
    struct Settings {
        first: Option<Setting>,
        #[serde(skip_serializing_if = "Option::is_none")]
        second: Option<Setting>,
    }

    #[test]
    fn describes_type_separately_for_requests_and_responses() {
        let mut schemas = SchemaRegistry::default();
        let (request, (response, _)) = (schemas.request_schema::<Setting>(), schemas.response_schema::<Setting>());
        let mut document = json!({ "request": request, "response": response, "components": { "schemas": {} } });
        schemas.finish(&mut document);
        assert_eq!(document["request"]["$ref"], "#/components/schemas/SettingRequest");
        assert_eq!(document["response"]["$ref"], "#/components/schemas/Setting");
        let schemas = &document["components"]["schemas"];
        assert_eq!(schemas["SettingRequest"]["required"], json!(["value"]));
        assert_eq!(schemas["Setting"]["required"], json!(["value", "unit"]));
    }

    #[test]
    fn permits_null_only_in_fields_that_are_always_present() {
        let mut schemas = SchemaRegistry::default();
        schemas.response_schema::<Settings>();
        let mut document = json!({ "components": { "schemas": {} } });
        schemas.finish(&mut document);
        let schemas = &document["components"]["schemas"];
        assert_eq!(schemas["Setting"]["properties"]["note"]["type"], "string");
        let reference = json!({ "$ref": "#/components/schemas/Setting" });
        assert_eq!(schemas["Settings"]["properties"]["second"], reference);
        assert_eq!(schemas["Settings"]["properties"]["first"]["anyOf"], json!([reference, { "type": "null" }]));
    }

    #[test]
    fn describes_fields_of_query_as_parameters() {
        let parameters = SchemaRegistry::default().query_parameters::<Setting>();
        assert_eq!(parameters.len(), 3);
        let parameter = |name: &str| parameters.iter().find(|parameter| parameter["name"] == name).unwrap();
        for (name, required) in [("value", true), ("unit", false), ("note", false)] {
            assert_eq!((&parameter(name)["in"], &parameter(name)["required"]), (&json!("query"), &json!(required)));
        }
        assert_eq!(parameter("note")["schema"]["type"], "string");
    }

    #[test]
    fn writes_documentation_as_plain_text() {
        let description = SchemaRegistry::default().response_schema::<Setting>().1;
        assert_eq!(description.as_deref(), Some("A setting of `Settings`, in one unit."));
        for unchanged in ["values[0], [1]", "[here](https://example.com)", "an open [`bracket"] {
            assert_eq!(plain_text(unchanged), unchanged);
        }
    }
}
