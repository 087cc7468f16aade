//! Whether arguments that a person changed are what the tool takes. Only what can be told for certain is refused: keywords
//! that are not known here are left to the server, which checks for itself.

use std::cell::Cell;

use serde_json::{Map, Value};

/// Levels of schemas within schemas, references included: deeper ones are left to the server.
const DEPTH: usize = 32;
/// Steps of one check. A schema that needs more (branches within branches) is left to the server.
const STEPS: u32 = 20_000;

/// What is wrong with a value, in words, with the place where it is; `Ok` when nothing is.
pub fn check(schema: &Value, value: &Value) -> Result<(), String> {
    Checker { root: schema, steps: Cell::new(0) }.check(schema, value, "arguments", 0)
}

struct Checker<'a> {
    root: &'a Value,
    steps: Cell<u32>,
}

impl Checker<'_> {
    fn check(&self, schema: &Value, value: &Value, at: &str, depth: usize) -> Result<(), String> {
        let Some(schema) = schema.as_object() else {
            return if schema == &Value::Bool(false) { Err(format!("{at}: nothing is taken here")) } else { Ok(()) };
        };
        self.steps.set(self.steps.get() + 1);
        if depth > DEPTH || self.steps.get() > STEPS {
            return Ok(());
        }
        if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
            // Nothing is fetched: a reference into another document says nothing here.
            let inside = target.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer));
            if let Some(inside) = inside {
                self.check(inside, value, at, depth + 1)?;
            }
        }
        check_type(schema, value, at)?;
        if let Some(only) = schema.get("const").filter(|only| *only != value) {
            return Err(format!("{at}: has to be {only}"));
        }
        if let Some(choices) = schema.get("enum").and_then(Value::as_array).filter(|all| !all.contains(value)) {
            return Err(format!("{at}: has to be one of {}", Value::from(choices.clone())));
        }
        self.check_branches(schema, value, at, depth)?;
        match value {
            Value::Object(fields) => self.check_fields(schema, fields, at, depth),
            Value::Array(items) => self.check_items(schema, items, at, depth),
            Value::String(text) => check_size(schema, ["minLength", "maxLength"], text.chars().count(), at),
            Value::Number(number) => check_number(schema, number.as_f64().unwrap_or_default(), at),
            _ => Ok(()),
        }
    }

    fn check_branches(&self, schema: &Map<String, Value>, value: &Value, at: &str, depth: usize) -> Result<(), String> {
        let branches = |name: &str| schema.get(name).and_then(Value::as_array);
        for branch in branches("allOf").into_iter().flatten() {
            self.check(branch, value, at, depth + 1)?;
        }
        for name in ["anyOf", "oneOf"] {
            let Some(all) = branches(name).filter(|all| !all.is_empty()) else { continue };
            let first = self.check(&all[0], value, at, depth + 1);
            if first.is_err() && all[1..].iter().all(|branch| self.check(branch, value, at, depth + 1).is_err()) {
                return first;
            }
        }
        Ok(())
    }

    fn check_fields(
        &self,
        schema: &Map<String, Value>,
        fields: &Map<String, Value>,
        at: &str,
        depth: usize,
    ) -> Result<(), String> {
        for name in schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str) {
            if !fields.contains_key(name) {
                return Err(format!("{at}.{name}: is missing"));
            }
        }
        let known = schema.get("properties").and_then(Value::as_object);
        let patterns = schema.contains_key("patternProperties");
        for (name, value) in fields {
            let at = format!("{at}.{name}");
            match (known.and_then(|known| known.get(name)), schema.get("additionalProperties")) {
                (Some(inner), _) => self.check(inner, value, &at, depth + 1)?,
                (None, Some(Value::Bool(false))) if !patterns => return Err(format!("{at}: is not known")),
                (None, Some(inner)) if !patterns => self.check(inner, value, &at, depth + 1)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn check_items(&self, schema: &Map<String, Value>, items: &[Value], at: &str, depth: usize) -> Result<(), String> {
        check_size(schema, ["minItems", "maxItems"], items.len(), at)?;
        let first = schema.get("prefixItems").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        for (index, item) in items.iter().enumerate() {
            if let Some(inner) = first.get(index).or_else(|| schema.get("items").filter(|items| !items.is_array())) {
                self.check(inner, item, &format!("{at}[{index}]"), depth + 1)?;
            }
        }
        Ok(())
    }
}

fn check_type(schema: &Map<String, Value>, value: &Value, at: &str) -> Result<(), String> {
    let types: Vec<&str> = match schema.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        _ => return Ok(()),
    };
    let fits = |kind: &&str| match *kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0),
        _ => true,
    };
    if types.is_empty() || types.iter().any(fits) {
        return Ok(());
    }
    Err(format!("{at}: has to be of the type {}", types.join(" or ")))
}

fn check_size(schema: &Map<String, Value>, [least, most]: [&str; 2], size: usize, at: &str) -> Result<(), String> {
    let bound = |name: &str| schema.get(name).and_then(Value::as_u64).and_then(|bound| usize::try_from(bound).ok());
    match (bound(least), bound(most)) {
        (Some(least), _) if size < least => Err(format!("{at}: is shorter than {least}")),
        (_, Some(most)) if size > most => Err(format!("{at}: is longer than {most}")),
        _ => Ok(()),
    }
}

fn check_number(schema: &Map<String, Value>, number: f64, at: &str) -> Result<(), String> {
    let bound = |name: &str| schema.get(name).and_then(Value::as_f64);
    let is_small = bound("minimum").is_some_and(|least| number < least)
        || bound("exclusiveMinimum").is_some_and(|least| number <= least);
    let is_large = bound("maximum").is_some_and(|most| number > most)
        || bound("exclusiveMaximum").is_some_and(|most| number >= most);
    match (is_small, is_large) {
        (true, _) => Err(format!("{at}: is too small")),
        (_, true) => Err(format!("{at}: is too large")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_does_not_fit_is_named_with_its_place() {
        let schema = json!({
            "type": "object", "required": ["to"], "additionalProperties": false,
            "properties": {
                "to": { "$ref": "#/$defs/address" },
                "count": { "type": "integer", "minimum": 1, "maximum": 9 },
                "tags": { "type": "array", "items": { "enum": ["a", "b"] }, "maxItems": 2 },
                "size": { "anyOf": [{ "type": "null" }, { "type": "number" }] },
            },
            "$defs": { "address": { "type": "string", "minLength": 3 } },
        });
        assert_eq!(check(&schema, &json!({ "to": "you", "count": 3.0, "tags": ["a"], "size": null })), Ok(()));
        for (value, wrong) in [
            (json!([]), "arguments: has to be of the type object"),
            (json!({}), "arguments.to: is missing"),
            (json!({ "to": "x" }), "arguments.to: is shorter than 3"),
            (json!({ "to": "you", "cc": 1 }), "arguments.cc: is not known"),
            (json!({ "to": "you", "count": 1.5 }), "arguments.count: has to be of the type integer"),
            (json!({ "to": "you", "count": 10 }), "arguments.count: is too large"),
            (json!({ "to": "you", "tags": ["c"] }), "arguments.tags[0]: has to be one of [\"a\",\"b\"]"),
            (json!({ "to": "you", "tags": ["a", "a", "a"] }), "arguments.tags: is longer than 2"),
            (json!({ "to": "you", "size": "big" }), "arguments.size: has to be of the type null"),
        ] {
            assert_eq!(check(&schema, &value).unwrap_err(), wrong, "{value}");
        }
    }

    #[test]
    fn a_schema_that_turns_in_a_circle_ends() {
        let branches = json!([{ "$ref": "#" }, { "$ref": "#" }]);
        for schema in [json!({ "$ref": "#" }), json!({ "anyOf": branches }), json!({ "allOf": branches })] {
            assert_eq!(check(&schema, &json!(1)), Ok(()), "{schema}");
        }
    }
}
