//! Validation by JSON Schema 2020-12. Schemas come from untrusted servers, so a validation fetches nothing and takes limited
//! time with any schema. Where the result is uncertain, a value is accepted. ADR 27 compares it with the crate `jsonschema`.

mod fields;
mod items;
mod scalars;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use regex::{Regex, RegexBuilder};
use serde_json::{Map, Value};

/// Maximum nesting of schemas, including references. Deeper ones are ignored.
const MAX_DEPTH: usize = 32;
/// Maximum number of steps of a validation, of less than a microsecond each. What remains is ignored.
const MAX_STEPS: usize = 200_000;
/// Maximum size of a compiled pattern, in bytes. Larger ones are ignored.
const MAX_PATTERN_BYTES: usize = 256 * 1024;
/// Steps that the compilation of a pattern counts as.
const PATTERN_COMPILATION_STEPS: usize = 500;

/// The first violation of a schema that was found in a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {problem}")]
pub struct SchemaViolation {
    path: String,
    problem: String,
}

impl SchemaViolation {
    fn new(path: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { path: path.into(), problem: problem.into() }
    }
}

/// Validates a value. `name` is what error messages call it.
pub fn validate(schema: &Value, value: &Value, name: &str) -> Result<(), SchemaViolation> {
    let validator =
        Validator { root: schema, steps: Cell::new(0), is_uncertain: Cell::new(false), patterns: RefCell::default() };
    validator.validate(schema, value, name, 0)
}

/// State of one validation.
struct Validator<'a> {
    root: &'a Value,
    steps: Cell<usize>,
    /// Whether a part of the schema was ignored, so that a missing violation proves nothing.
    is_uncertain: Cell<bool>,
    /// Compiled patterns; `None` for those that cannot be compiled.
    patterns: RefCell<HashMap<String, Option<Regex>>>,
}

/// Result of the validation by a subschema.
enum Validity {
    Valid,
    Invalid(SchemaViolation),
    Uncertain,
}

type Fields = Map<String, Value>;

impl Validator<'_> {
    fn validate(&self, schema: &Value, value: &Value, at: &str, depth: usize) -> Result<(), SchemaViolation> {
        let Some(schema) = schema.as_object() else {
            return if schema == &Value::Bool(false) {
                Err(SchemaViolation::new(at, "no value is allowed"))
            } else {
                Ok(())
            };
        };
        if depth > MAX_DEPTH || !self.take_steps(1) {
            self.is_uncertain.set(true);
            return Ok(());
        }
        for reference in ["$ref", "$dynamicRef"] {
            let Some(target) = schema.get(reference).and_then(Value::as_str) else { continue };
            match self.resolve(target) {
                Some(inside) => self.validate(inside, value, at, depth + 1)?,
                // References to other documents are ignored, because nothing is fetched.
                None => self.is_uncertain.set(true),
            }
        }
        if schema.contains_key("unevaluatedProperties") || schema.contains_key("unevaluatedItems") {
            self.is_uncertain.set(true);
        }
        scalars::validate_type(schema, value, at)?;
        if let Some(only) = schema.get("const").filter(|only| *only != value) {
            return Err(SchemaViolation::new(at, format!("must be {only}")));
        }
        if let Some(choices) = schema.get("enum").and_then(Value::as_array) {
            if !self.take_steps(choices.len()) {
                self.is_uncertain.set(true);
            } else if !choices.contains(value) {
                return Err(SchemaViolation::new(at, format!("must be one of {}", Value::from(choices.clone()))));
            }
        }
        self.validate_branches(schema, value, at, depth)?;
        match value {
            Value::Object(fields) => self.validate_fields(schema, fields, at, depth),
            Value::Array(items) => self.validate_items(schema, items, at, depth),
            Value::String(text) => self.validate_text(schema, text, at),
            Value::Number(number) => scalars::validate_number(schema, number.as_f64().unwrap_or_default(), at),
            _ => Ok(()),
        }
    }

    /// Validates by the schemas that combine others.
    fn validate_branches(&self, schema: &Fields, value: &Value, at: &str, depth: usize) -> Result<(), SchemaViolation> {
        let branches = |name: &str| schema.get(name).and_then(Value::as_array);
        for branch in branches("allOf").into_iter().flatten() {
            self.validate(branch, value, at, depth + 1)?;
        }
        for name in ["anyOf", "oneOf"] {
            let Some(all) = branches(name).filter(|all| !all.is_empty()) else { continue };
            self.validate_choice(all, value, at, depth, name == "oneOf")?;
        }
        if let Some(unwanted) = schema.get("not") {
            match self.validity(unwanted, value, at, depth) {
                Validity::Valid => return Err(SchemaViolation::new(at, "matches a forbidden schema")),
                Validity::Invalid(_) => {}
                Validity::Uncertain => self.is_uncertain.set(true),
            }
        }
        if let Some(condition) = schema.get("if") {
            let branch = match self.validity(condition, value, at, depth) {
                Validity::Valid => schema.get("then"),
                Validity::Invalid(_) => schema.get("else"),
                Validity::Uncertain => {
                    self.is_uncertain.set(true);
                    None
                }
            };
            if let Some(branch) = branch {
                self.validate(branch, value, at, depth + 1)?;
            }
        }
        Ok(())
    }

    /// Validates by several schemas, of which at least one or exactly one must match.
    fn validate_choice(
        &self,
        all: &[Value],
        value: &Value,
        at: &str,
        depth: usize,
        only_one: bool,
    ) -> Result<(), SchemaViolation> {
        let (mut matching, mut is_uncertain, mut first_problem) = (0, false, None);
        for branch in all {
            match self.validity(branch, value, at, depth) {
                Validity::Valid => matching += 1,
                Validity::Uncertain => is_uncertain = true,
                Validity::Invalid(problem) => drop(first_problem.get_or_insert(problem)),
            }
            if matching > 0 && !only_one {
                return Ok(());
            }
        }
        match (matching, first_problem) {
            // Two matches are too many for `oneOf`, whatever the uncertain alternatives are.
            (2.., _) => Err(SchemaViolation::new(at, "matches more than one of the alternatives")),
            (0, Some(problem)) if !is_uncertain => Err(problem),
            _ => {
                if is_uncertain {
                    self.is_uncertain.set(true);
                }
                Ok(())
            }
        }
    }

    /// Validates by a subschema, and tells an uncertain result from a valid one.
    fn validity(&self, schema: &Value, value: &Value, at: &str, depth: usize) -> Validity {
        // Set aside, so that the flag tells about this subschema alone; whether that makes the whole uncertain is for
        // the caller to decide.
        let before = self.is_uncertain.replace(false);
        let result = self.validate(schema, value, at, depth + 1);
        match (result, self.is_uncertain.replace(before)) {
            (Err(problem), _) => Validity::Invalid(problem),
            (Ok(()), true) => Validity::Uncertain,
            (Ok(()), false) => Validity::Valid,
        }
    }

    /// Resolves a reference within the document.
    fn resolve(&self, target: &str) -> Option<&Value> {
        let fragment = target.strip_prefix('#')?;
        // A JSON pointer (RFC 6901), or else an anchor.
        if fragment.is_empty() || fragment.starts_with('/') {
            return self.root.pointer(fragment);
        }
        let definitions = ["$defs", "definitions"].into_iter().filter_map(|name| self.root.get(name)?.as_object());
        let named = |schema: &&Value| {
            ["$anchor", "$dynamicAnchor"].iter().any(|name| schema.get(name).and_then(Value::as_str) == Some(fragment))
        };
        std::iter::once(self.root).chain(definitions.flat_map(Map::values)).find(named)
    }

    /// Counts steps. Returns `false` if there are too many.
    fn take_steps(&self, steps: usize) -> bool {
        self.steps.set(self.steps.get().saturating_add(steps));
        self.steps.get() <= MAX_STEPS
    }

    /// Returns whether a text matches a pattern, or `None` if that is uncertain.
    fn matches(&self, pattern: &str, text: &str) -> Option<bool> {
        let mut patterns = self.patterns.borrow_mut();
        if !patterns.contains_key(pattern) {
            let compiled = self
                .take_steps(PATTERN_COMPILATION_STEPS)
                // Without lookaround and back references, which this engine rejects, matching takes linear time. ECMA
                // 262 has both, so that such a pattern is uncertain and not an error.
                .then(|| RegexBuilder::new(pattern).size_limit(MAX_PATTERN_BYTES).build().ok());
            patterns.insert(pattern.to_owned(), compiled.flatten());
        }
        let compiled = patterns.get(pattern)?.as_ref()?;
        self.take_steps(1 + text.len() / 16).then(|| compiled.is_match(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn describes_violation_with_path() {
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
        assert_eq!(
            validate(&schema, &json!({ "to": "you", "count": 3.0, "tags": ["a"], "size": null }), "arguments"),
            Ok(())
        );
        for (value, wrong) in [
            (json!([]), "arguments: must be of type object"),
            (json!({}), "arguments.to: is missing"),
            (json!({ "to": "x" }), "arguments.to: is shorter than 3"),
            (json!({ "to": "you", "cc": 1 }), "arguments.cc: is not known"),
            (json!({ "to": "you", "count": 1.5 }), "arguments.count: must be of type integer"),
            (json!({ "to": "you", "count": 10 }), "arguments.count: is too large"),
            (json!({ "to": "you", "tags": ["c"] }), "arguments.tags[0]: must be one of [\"a\",\"b\"]"),
            (json!({ "to": "you", "tags": ["a", "a", "a"] }), "arguments.tags: is longer than 2"),
            (json!({ "to": "you", "size": "big" }), "arguments.size: must be of type null"),
        ] {
            assert_eq!(validate(&schema, &value, "arguments").unwrap_err().to_string(), wrong, "{value}");
        }
    }

    /// Returns for each value whether it is rejected.
    fn are_rejected(schema: &Value, values: Value) -> Vec<bool> {
        values.as_array().unwrap().iter().map(|value| validate(schema, value, "result").is_err()).collect()
    }

    #[test]
    fn validates_keywords_of_2020_12() {
        let cases = [
            (json!({ "not": { "type": "string" } }), json!([1, "a"])),
            (json!({ "oneOf": [{ "type": "number" }, { "minimum": 5 }] }), json!([1, 7])),
            (
                json!({ "if": { "type": "string" }, "then": { "minLength": 2 }, "else": { "type": "null" } }),
                json!(["ab", "a"]),
            ),
            (json!({ "if": { "type": "string" }, "else": { "type": "null" } }), json!([null, 3])),
            (json!({ "pattern": "^[a-z]+$" }), json!(["abc", "A"])),
            (json!({ "patternProperties": { "^x-": { "type": "string" } } }), json!([{ "x-a": "b" }, { "x-a": 1 }])),
            (
                json!({ "patternProperties": { "^x-": {} }, "additionalProperties": false }),
                json!([{ "x-a": 1 }, { "y": 1 }]),
            ),
            (json!({ "propertyNames": { "maxLength": 2 } }), json!([{ "ab": 1 }, { "abc": 1 }])),
            (json!({ "minProperties": 1 }), json!([{ "a": 1 }, {}])),
            (json!({ "maxProperties": 1 }), json!([{ "a": 1 }, { "a": 1, "b": 2 }])),
            (json!({ "dependentRequired": { "card": ["code"] } }), json!([{ "code": 1 }, { "card": 1 }])),
            (json!({ "dependentSchemas": { "a": { "required": ["b"] } } }), json!([{ "a": 1, "b": 1 }, { "a": 1 }])),
            (
                json!({ "prefixItems": [{ "type": "string" }], "items": { "type": "number" } }),
                json!([["a", 1], ["a", "b"]]),
            ),
            (json!({ "contains": { "const": 1 } }), json!([[2, 1], [2]])),
            (json!({ "contains": { "const": 1 }, "minContains": 0 }), json!([[2], []])),
            (json!({ "contains": { "const": 1 }, "maxContains": 1 }), json!([[1], [1, 1]])),
            (json!({ "uniqueItems": true }), json!([[1, "1"], [1, 1]])),
            (json!({ "multipleOf": 0.1 }), json!([0.3, 0.35])),
            (json!({ "$ref": "#word", "$defs": { "w": { "$anchor": "word", "type": "string" } } }), json!(["a", 1])),
        ];
        for (schema, values) in cases {
            let expected = if schema.get("minContains").is_some() { [false, false] } else { [false, true] };
            assert_eq!(are_rejected(&schema, values), expected, "{schema}");
        }
    }

    #[test]
    fn accepts_values_in_uncertain_cases() {
        for schema in [
            json!({ "$ref": "https://example.com/schema.json" }),
            json!({ "not": { "$ref": "https://example.com/schema.json" } }),
            json!({ "pattern": "(?=lookahead)" }),
            json!({ "pattern": "a".repeat(MAX_PATTERN_BYTES) }),
            json!({ "oneOf": [{ "type": "string" }, { "unevaluatedProperties": false }] }),
            json!({ "type": "surprise" }),
            json!({ "minimum": "a", "enum": 1, "required": 2, "properties": [], "allOf": {} }),
        ] {
            assert_eq!(validate(&schema, &json!("text"), "result"), Ok(()), "{schema}");
        }
    }

    #[test]
    fn hostile_schema_takes_limited_time() {
        let deep = (0..100).fold(json!({ "type": "string" }), |inner, _| json!({ "allOf": [inner] }));
        let chain = |keyword: &str| {
            let mut definitions = Map::new();
            for level in 0..30 {
                let next = json!({ "$ref": format!("#/$defs/{}", level + 1) });
                definitions.insert(level.to_string(), json!({ keyword: [next, next] }));
            }
            definitions.insert("30".to_owned(), json!({ "type": "string" }));
            json!({ "$ref": "#/$defs/0", "$defs": definitions })
        };
        let long: Vec<Value> = (0..100_000).map(Value::from).collect();
        let began = std::time::Instant::now();
        for schema in [deep, chain("allOf"), chain("anyOf"), chain("oneOf")] {
            drop(validate(&schema, &json!(1), "result"));
        }
        let slow = json!({ "items": { "enum": long }, "uniqueItems": true, "contains": { "pattern": "(a*)*b" } });
        drop(validate(&slow, &json!(long), "result"));
        drop(validate(&json!({ "pattern": "(a*)*b" }), &json!("a".repeat(1_000_000)), "result"));
        assert!(began.elapsed().as_secs() < 20, "the number of steps is limited: {:?}", began.elapsed());
    }

    #[test]
    fn circular_schema_ends() {
        let branches = json!([{ "$ref": "#" }, { "$ref": "#" }]);
        for schema in [json!({ "$ref": "#" }), json!({ "anyOf": branches }), json!({ "allOf": branches })] {
            assert_eq!(validate(&schema, &json!(1), "arguments"), Ok(()), "{schema}");
        }
    }
}
