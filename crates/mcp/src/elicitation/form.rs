//! Forms as servers describe them: flat, with a few kinds of fields.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Unreadable, message};
use crate::error::quote;

/// More fields than anybody fills in.
const FIELDS: usize = 100;
/// More options than anybody chooses from.
const OPTIONS: usize = 1000;

/// A form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Form {
    /// Why, in the server's words.
    pub message: String,
    /// What is asked for, the required fields first.
    pub fields: Vec<Field>,
}

/// One field of a form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Field {
    /// Its key in the answer.
    pub name: String,
    /// What to call it; the key, if the server gave nothing better.
    pub title: String,
    /// What it is for; may be empty.
    pub description: String,
    /// Whether the form cannot be sent without it.
    pub required: bool,
    /// What it takes.
    #[serde(flatten)]
    pub kind: Kind,
    /// What stands in it at first, and what is sent if the person leaves it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
}

/// What a field takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Kind {
    /// Text; lengths in characters.
    Text {
        /// `email`, `uri`, `date` or `date-time`.
        format: Option<String>,
        /// At least so long.
        min_length: Option<u64>,
        /// At most so long.
        max_length: Option<u64>,
        /// A regular expression that the server will try. It is for a hint only and is not tried here.
        pattern: Option<String>,
    },
    /// A number.
    Number {
        /// Whether it has to be whole.
        integer: bool,
        /// At least.
        minimum: Option<f64>,
        /// At most.
        maximum: Option<f64>,
    },
    /// Yes or no.
    Boolean,
    /// One of several.
    One {
        /// What to choose from.
        options: Vec<Choice>,
    },
    /// Some of several.
    Many {
        /// What to choose from.
        options: Vec<Choice>,
        /// At least so many.
        min_items: Option<u64>,
        /// At most so many.
        max_items: Option<u64>,
    },
}

/// An option of a field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// What is sent.
    pub value: String,
    /// What is shown.
    pub title: String,
}

/// Reads the parameters of an `elicitation/create` request in form mode.
pub(super) fn read(params: &Value) -> Result<Form, Unreadable> {
    let schema = params.get("requestedSchema").ok_or(Unreadable("a form without fields"))?;
    let properties = match schema.get("properties") {
        None => &Map::new(),
        Some(properties) => properties.as_object().ok_or(Unreadable("a form that is none"))?,
    };
    if properties.len() > FIELDS {
        return Err(Unreadable("a form with too many fields"));
    }
    let required: Vec<&str> = strings(schema.get("required")).collect();
    let mut fields = properties
        .iter()
        .map(|(name, schema)| field(name, schema, required.contains(&name.as_str())))
        .collect::<Result<Vec<_>, _>>()?;
    fields.sort_by_key(|field| !field.required);
    Ok(Form { message: message(params), fields })
}

fn field(name: &str, schema: &Value, required: bool) -> Result<Field, Unreadable> {
    let text = |key: &str| schema.get(key).and_then(Value::as_str).map(quote).filter(|text| !text.trim().is_empty());
    let mut field = Field {
        name: name.to_owned(),
        title: text("title").unwrap_or_else(|| quote(name)),
        description: text("description").unwrap_or_default(),
        required,
        kind: kind(schema)?,
        default: None,
    };
    // A default that the field itself would not take is none.
    field.default = schema.get("default").filter(|default| field.check(default).is_ok()).cloned();
    Ok(field)
}

fn kind(schema: &Value) -> Result<Kind, Unreadable> {
    let number = |key: &str| schema.get(key).and_then(Value::as_f64);
    let count = |key: &str| schema.get(key).and_then(Value::as_u64);
    let text = |key: &str| schema.get(key).and_then(Value::as_str).map(str::to_owned);
    if let Some(options) = options(schema)? {
        return Ok(Kind::One { options });
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("string") => Ok(Kind::Text {
            format: text("format"),
            min_length: count("minLength"),
            max_length: count("maxLength"),
            pattern: text("pattern"),
        }),
        Some(word @ ("number" | "integer")) => {
            Ok(Kind::Number { integer: word == "integer", minimum: number("minimum"), maximum: number("maximum") })
        }
        Some("boolean") => Ok(Kind::Boolean),
        Some("array") => {
            let options = schema.get("items").map(options).transpose()?.flatten();
            let options = options.ok_or(Unreadable("a list of anything"))?;
            Ok(Kind::Many { options, min_items: count("minItems"), max_items: count("maxItems") })
        }
        _ => Err(Unreadable("a field of an unknown kind")),
    }
}

/// The options of a choice: plain (`enum`), with titles beside them (`enumNames`), or each with its title.
fn options(schema: &Value) -> Result<Option<Vec<Choice>>, Unreadable> {
    let titled = ["oneOf", "anyOf"].iter().find_map(|key| schema.get(key)).and_then(Value::as_array);
    let options: Vec<Choice> = if let Some(titled) = titled {
        let option = |option: &Value| {
            let value = option.get("const")?.as_str()?;
            let title = option.get("title").and_then(Value::as_str).unwrap_or(value);
            Some(Choice { value: value.to_owned(), title: quote(title) })
        };
        titled.iter().map(option).collect::<Option<_>>().ok_or(Unreadable("a choice of something else than text"))?
    } else if schema.get("enum").is_some() {
        let mut titles = strings(schema.get("enumNames"));
        strings(schema.get("enum"))
            .map(|value| Choice { value: value.to_owned(), title: quote(titles.next().unwrap_or(value)) })
            .collect()
    } else {
        return Ok(None);
    };
    if options.is_empty() || options.len() > OPTIONS {
        return Err(Unreadable("a choice of nothing or of too much"));
    }
    Ok(Some(options))
}

fn strings(list: Option<&Value>) -> impl Iterator<Item = &str> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn form(properties: Value) -> Result<Form, Unreadable> {
        read(&json!({ "message": "?", "requestedSchema": {
            "type": "object", "properties": properties, "required": ["z"],
        }}))
    }

    fn one(schema: Value) -> Field {
        form(json!({ "f": schema })).unwrap().fields.remove(0)
    }

    #[test]
    fn every_kind_of_choice_is_read() {
        let letters = |kind: Kind| match kind {
            Kind::One { options } | Kind::Many { options, .. } => {
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
        assert!(matches!(many.kind, Kind::Many { max_items: Some(1), .. }));
    }

    #[test]
    fn required_fields_come_first_and_have_words() {
        let form = form(json!({ "a": { "type": "boolean", "title": "Sure?" }, "z": { "type": "string" } })).unwrap();
        let titles: Vec<_> = form.fields.iter().map(|field| (field.title.as_str(), field.required)).collect();
        assert_eq!(titles, [("z", true), ("Sure?", false)]);
    }

    #[test]
    fn a_default_of_another_kind_is_none() {
        assert_eq!(one(json!({ "type": "integer", "default": 3 })).default, Some(json!(3)));
        assert_eq!(one(json!({ "type": "integer", "default": 3.5 })).default, None);
        assert_eq!(one(json!({ "type": "string", "enum": ["a"], "default": "b" })).default, None);
    }

    #[test]
    fn what_nobody_could_fill_in_is_refused() {
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
            (0..=FIELDS).map(|number| (number.to_string(), json!({ "type": "boolean" }))).collect();
        assert!(form(Value::Object(many)).is_err());
    }
}
