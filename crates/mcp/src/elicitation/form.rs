//! Forms of elicitations: flat, with a few kinds of fields (2025-11-25, "Elicitation", "Requested Schema").

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{UnsupportedElicitation, read_message};
use crate::error::sanitize_text;

/// Maximum number of fields in a form.
const MAX_FIELDS: usize = 100;
/// Maximum number of options of a field.
const MAX_OPTIONS: usize = 1000;

/// Form to be filled in by a user.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ElicitationForm {
    /// Reason of the server, sanitized.
    pub message: String,
    /// Fields, the required ones first.
    pub fields: Vec<FormField>,
}

/// Field of an [`ElicitationForm`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FormField {
    /// Key in the content of the response.
    pub name: String,
    /// Label; the key if the server gave none.
    pub title: String,
    /// Help text; may be empty.
    pub description: String,
    /// Set if the form cannot be sent without a value.
    pub required: bool,
    /// Type of the value.
    #[serde(flatten)]
    pub kind: FieldKind,
    /// Initial value, which is also sent if the user leaves the field out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
}

/// Type of a field's value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum FieldKind {
    /// Text.
    Text {
        /// `email`, `uri`, `date` or `date-time`.
        format: Option<String>,
        /// Minimum length, in characters.
        min_length: Option<u64>,
        /// Maximum length, in characters.
        max_length: Option<u64>,
        /// Regular expression that the server checks. It is a hint: running a server's expressions would let it take
        /// any amount of time.
        pattern: Option<String>,
    },
    /// Number.
    Number {
        /// Set if only whole numbers are valid.
        integer: bool,
        /// Smallest valid number.
        minimum: Option<f64>,
        /// Largest valid number.
        maximum: Option<f64>,
    },
    /// Boolean.
    Boolean,
    /// One of several options.
    One {
        /// Options, in the server's order.
        options: Vec<FieldOption>,
    },
    /// Any number of several options.
    Many {
        /// Options, in the server's order.
        options: Vec<FieldOption>,
        /// Minimum number of chosen options.
        min_items: Option<u64>,
        /// Maximum number of chosen options.
        max_items: Option<u64>,
    },
}

/// Option of a [`FormField`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldOption {
    /// Value that is sent.
    pub value: String,
    /// Label that is shown.
    pub title: String,
}

/// Parses the parameters of an elicitation in form mode.
pub(super) fn parse_form(params: &Value) -> Result<ElicitationForm, UnsupportedElicitation> {
    let schema = params.get("requestedSchema").ok_or(UnsupportedElicitation("a form without fields"))?;
    let properties = match schema.get("properties") {
        None => &Map::new(),
        Some(properties) => properties.as_object().ok_or(UnsupportedElicitation("a form that is none"))?,
    };
    if properties.len() > MAX_FIELDS {
        return Err(UnsupportedElicitation("a form with too many fields"));
    }
    let required: Vec<&str> = iter_strings(schema.get("required")).collect();
    let mut fields = properties
        .iter()
        .map(|(name, schema)| parse_field(name, schema, required.contains(&name.as_str())))
        .collect::<Result<Vec<_>, _>>()?;
    // A stable sort: within the two groups the server's order stays.
    fields.sort_by_key(|field| !field.required);
    Ok(ElicitationForm { message: read_message(params), fields })
}

fn parse_field(name: &str, schema: &Value, required: bool) -> Result<FormField, UnsupportedElicitation> {
    let text =
        |key: &str| schema.get(key).and_then(Value::as_str).map(sanitize_text).filter(|text| !text.trim().is_empty());
    let mut field = FormField {
        name: name.to_owned(),
        title: text("title").unwrap_or_else(|| sanitize_text(name)),
        description: text("description").unwrap_or_default(),
        required,
        kind: parse_kind(schema)?,
        default: None,
    };
    // A default that the field itself rejects is dropped: a form that opens with an error could not be sent.
    field.default = schema.get("default").filter(|default| field.validate(default).is_ok()).cloned();
    Ok(field)
}

fn parse_kind(schema: &Value) -> Result<FieldKind, UnsupportedElicitation> {
    let number = |key: &str| schema.get(key).and_then(Value::as_f64);
    let count = |key: &str| schema.get(key).and_then(Value::as_u64);
    let text = |key: &str| schema.get(key).and_then(Value::as_str).map(str::to_owned);
    // Before the type, because a choice has the type `string` as well.
    if let Some(options) = parse_options(schema)? {
        return Ok(FieldKind::One { options });
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("string") => Ok(FieldKind::Text {
            format: text("format"),
            min_length: count("minLength"),
            max_length: count("maxLength"),
            pattern: text("pattern"),
        }),
        Some(word @ ("number" | "integer")) => {
            Ok(FieldKind::Number { integer: word == "integer", minimum: number("minimum"), maximum: number("maximum") })
        }
        Some("boolean") => Ok(FieldKind::Boolean),
        Some("array") => {
            let options = schema.get("items").map(parse_options).transpose()?.flatten();
            let options = options.ok_or(UnsupportedElicitation("a list of anything"))?;
            Ok(FieldKind::Many { options, min_items: count("minItems"), max_items: count("maxItems") })
        }
        _ => Err(UnsupportedElicitation("a field of an unknown kind")),
    }
}

/// Parses the options of a field: plain (`enum`), with titles in a second list (`enumNames`), or each with its title
/// (`oneOf`, `anyOf`). Returns `None` if the field has no options.
fn parse_options(schema: &Value) -> Result<Option<Vec<FieldOption>>, UnsupportedElicitation> {
    // 2025-11-25 replaced `enumNames`, which JSON Schema does not know; older servers still send it.
    let titled = ["oneOf", "anyOf"].iter().find_map(|key| schema.get(key)).and_then(Value::as_array);
    let options: Vec<FieldOption> = if let Some(titled) = titled {
        let option = |option: &Value| {
            let value = option.get("const")?.as_str()?;
            let title = option.get("title").and_then(Value::as_str).unwrap_or(value);
            Some(FieldOption { value: value.to_owned(), title: sanitize_text(title) })
        };
        titled
            .iter()
            .map(option)
            .collect::<Option<_>>()
            .ok_or(UnsupportedElicitation("a choice of something else than text"))?
    } else if schema.get("enum").is_some() {
        let mut titles = iter_strings(schema.get("enumNames"));
        iter_strings(schema.get("enum"))
            .map(|value| FieldOption { value: value.to_owned(), title: sanitize_text(titles.next().unwrap_or(value)) })
            .collect()
    } else {
        return Ok(None);
    };
    if options.is_empty() || options.len() > MAX_OPTIONS {
        return Err(UnsupportedElicitation("a choice of nothing or of too much"));
    }
    Ok(Some(options))
}

fn iter_strings(list: Option<&Value>) -> impl Iterator<Item = &str> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn form(properties: Value) -> Result<ElicitationForm, UnsupportedElicitation> {
        parse_form(&json!({ "message": "?", "requestedSchema": {
            "type": "object", "properties": properties, "required": ["z"],
        }}))
    }

    fn one(schema: Value) -> FormField {
        form(json!({ "f": schema })).unwrap().fields.remove(0)
    }

    #[test]
    fn parses_options_in_every_notation() {
        let letters = |kind: FieldKind| match kind {
            FieldKind::One { options } | FieldKind::Many { options, .. } => {
                options.into_iter().map(|option| format!("{}={}", option.value, option.title)).collect::<Vec<_>>()
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(letters(one(json!({ "type": "string", "enum": ["a", "b"] })).kind), ["a=a", "b=b"]);
        assert_eq!(
            letters(one(json!({ "type": "string", "enum": ["a", "b"], "enumNames": ["A"] })).kind),
            ["a=A", "b=b"]
        );
        assert_eq!(
            letters(one(json!({ "type": "string", "oneOf": [{ "const": "a", "title": "A" }, { "const": "b" }] })).kind),
            ["a=A", "b=b"]
        );
        assert_eq!(
            letters(one(json!({ "type": "array", "items": { "type": "string", "enum": ["a"] } })).kind),
            ["a=a"]
        );
        let many = one(json!({ "type": "array", "maxItems": 1, "default": ["a"],
            "items": { "anyOf": [{ "const": "a", "title": "A" }] } }));
        assert_eq!(many.default, Some(json!(["a"])));
        assert!(matches!(many.kind, FieldKind::Many { max_items: Some(1), .. }));
    }

    #[test]
    fn sorts_required_fields_first_and_labels_them() {
        let form = form(json!({ "a": { "type": "boolean", "title": "Sure?" }, "z": { "type": "string" } })).unwrap();
        let titles: Vec<_> = form.fields.iter().map(|field| (field.title.as_str(), field.required)).collect();
        assert_eq!(titles, [("z", true), ("Sure?", false)]);
    }

    #[test]
    fn drops_default_that_the_field_rejects() {
        assert_eq!(one(json!({ "type": "integer", "default": 3 })).default, Some(json!(3)));
        assert_eq!(one(json!({ "type": "integer", "default": 3.5 })).default, None);
        assert_eq!(one(json!({ "type": "string", "enum": ["a"], "default": "b" })).default, None);
    }

    #[test]
    fn rejects_forms_that_cannot_be_filled_in() {
        for schema in [
            json!({ "type": "object", "properties": {} }),
            json!({ "type": "array", "items": { "type": "string" } }),
            json!({ "type": "string", "enum": [] }),
            json!({ "type": "string", "oneOf": [{ "const": 1 }] }),
            json!({}),
            json!("string"),
        ] {
            assert!(form(json!({ "f": schema })).is_err(), "{schema}");
        }
        let many: Map<String, Value> =
            (0..=MAX_FIELDS).map(|number| (number.to_string(), json!({ "type": "boolean" }))).collect();
        assert!(form(Value::Object(many)).is_err());
    }
}
