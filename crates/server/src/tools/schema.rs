//! Whether a value is what a schema says (JSON Schema 2020-12). A schema is what a server says, so a check never fetches
//! anything and ends soon, whatever the schema: only what can be told for certain is refused.

mod fields;
mod items;
mod scalars;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use regex::{Regex, RegexBuilder};
use serde_json::{Map, Value};

/// Levels of schemas within schemas, references included: deeper ones are not looked at.
const DEPTH: usize = 32;
/// Steps of one check, a fraction of a microsecond each. What is left over is not looked at.
const STEPS: usize = 200_000;
/// Bytes of a compiled pattern. Larger ones are not looked at.
const PATTERN: usize = 256 * 1024;
/// What compiling a pattern costs, in steps.
const COMPILING: usize = 500;

/// What is wrong with a value that is called `name`, in words, with the place where it is; `Ok` when nothing is.
pub fn check(schema: &Value, value: &Value, name: &str) -> Result<(), String> {
    let checker = Checker { root: schema, steps: Cell::new(0), unsure: Cell::new(false), patterns: RefCell::default() };
    checker.check(schema, value, name, 0)
}

struct Checker<'a> {
    root: &'a Value,
    steps: Cell<usize>,
    /// Whether something was not looked at, so that "nothing is wrong" is not certain.
    unsure: Cell<bool>,
    /// Compiled once for each pattern; nothing for those that cannot be.
    patterns: RefCell<HashMap<String, Option<Regex>>>,
}

/// What is known of a value.
enum Verdict {
    Fits,
    Not(String),
    Unsure,
}

type Fields = Map<String, Value>;

impl Checker<'_> {
    fn check(&self, schema: &Value, value: &Value, at: &str, depth: usize) -> Result<(), String> {
        let Some(schema) = schema.as_object() else {
            return if schema == &Value::Bool(false) { Err(format!("{at}: nothing is taken here")) } else { Ok(()) };
        };
        if depth > DEPTH || !self.may_go_on(1) {
            self.unsure.set(true);
            return Ok(());
        }
        for reference in ["$ref", "$dynamicRef"] {
            let Some(target) = schema.get(reference).and_then(Value::as_str) else { continue };
            match self.resolve(target) {
                Some(inside) => self.check(inside, value, at, depth + 1)?,
                // Nothing is fetched: a reference into another document says nothing here.
                None => self.unsure.set(true),
            }
        }
        if schema.contains_key("unevaluatedProperties") || schema.contains_key("unevaluatedItems") {
            self.unsure.set(true);
        }
        scalars::check_type(schema, value, at)?;
        if let Some(only) = schema.get("const").filter(|only| *only != value) {
            return Err(format!("{at}: has to be {only}"));
        }
        if let Some(choices) = schema.get("enum").and_then(Value::as_array) {
            if !self.may_go_on(choices.len()) {
                self.unsure.set(true);
            } else if !choices.contains(value) {
                return Err(format!("{at}: has to be one of {}", Value::from(choices.clone())));
            }
        }
        self.check_branches(schema, value, at, depth)?;
        match value {
            Value::Object(fields) => self.check_fields(schema, fields, at, depth),
            Value::Array(items) => self.check_items(schema, items, at, depth),
            Value::String(text) => self.check_text(schema, text, at),
            Value::Number(number) => scalars::check_number(schema, number.as_f64().unwrap_or_default(), at),
            _ => Ok(()),
        }
    }

    fn check_branches(&self, schema: &Fields, value: &Value, at: &str, depth: usize) -> Result<(), String> {
        let branches = |name: &str| schema.get(name).and_then(Value::as_array);
        for branch in branches("allOf").into_iter().flatten() {
            self.check(branch, value, at, depth + 1)?;
        }
        for name in ["anyOf", "oneOf"] {
            let Some(all) = branches(name).filter(|all| !all.is_empty()) else { continue };
            self.check_choice(all, value, at, depth, name == "oneOf")?;
        }
        if let Some(unwanted) = schema.get("not") {
            match self.verdict(unwanted, value, at, depth) {
                Verdict::Fits => return Err(format!("{at}: is what it must not be")),
                Verdict::Not(_) => {}
                Verdict::Unsure => self.unsure.set(true),
            }
        }
        if let Some(condition) = schema.get("if") {
            let branch = match self.verdict(condition, value, at, depth) {
                Verdict::Fits => schema.get("then"),
                Verdict::Not(_) => schema.get("else"),
                Verdict::Unsure => {
                    self.unsure.set(true);
                    None
                }
            };
            if let Some(branch) = branch {
                self.check(branch, value, at, depth + 1)?;
            }
        }
        Ok(())
    }

    /// Whether a value fits one of several schemas: at least one, or exactly one.
    fn check_choice(&self, all: &[Value], value: &Value, at: &str, depth: usize, only_one: bool) -> Result<(), String> {
        let (mut fitting, mut unsure, mut first) = (0, false, None);
        for branch in all {
            match self.verdict(branch, value, at, depth) {
                Verdict::Fits => fitting += 1,
                Verdict::Unsure => unsure = true,
                Verdict::Not(wrong) => drop(first.get_or_insert(wrong)),
            }
            if fitting > 0 && !only_one {
                return Ok(());
            }
        }
        match (fitting, first) {
            (2.., _) => Err(format!("{at}: fits more than one of the choices")),
            (0, Some(wrong)) if !unsure => Err(wrong),
            _ => {
                if unsure {
                    self.unsure.set(true);
                }
                Ok(())
            }
        }
    }

    fn verdict(&self, schema: &Value, value: &Value, at: &str, depth: usize) -> Verdict {
        let before = self.unsure.replace(false);
        let checked = self.check(schema, value, at, depth + 1);
        match (checked, self.unsure.replace(before)) {
            (Err(wrong), _) => Verdict::Not(wrong),
            (Ok(()), true) => Verdict::Unsure,
            (Ok(()), false) => Verdict::Fits,
        }
    }

    /// What a reference within the document points to.
    fn resolve(&self, target: &str) -> Option<&Value> {
        let place = target.strip_prefix('#')?;
        if place.is_empty() || place.starts_with('/') {
            return self.root.pointer(place);
        }
        let definitions = ["$defs", "definitions"].into_iter().filter_map(|name| self.root.get(name)?.as_object());
        let named = |schema: &&Value| {
            ["$anchor", "$dynamicAnchor"].iter().any(|name| schema.get(name).and_then(Value::as_str) == Some(place))
        };
        std::iter::once(self.root).chain(definitions.flat_map(Map::values)).find(named)
    }

    /// Counts steps. Not when there are too many of them.
    fn may_go_on(&self, steps: usize) -> bool {
        self.steps.set(self.steps.get().saturating_add(steps));
        self.steps.get() <= STEPS
    }

    /// Whether a text has the form of a pattern; nothing when that cannot be told.
    fn matches(&self, pattern: &str, text: &str) -> Option<bool> {
        let mut patterns = self.patterns.borrow_mut();
        if !patterns.contains_key(pattern) {
            let compiled =
                self.may_go_on(COMPILING).then(|| RegexBuilder::new(pattern).size_limit(PATTERN).build().ok());
            patterns.insert(pattern.to_owned(), compiled.flatten());
        }
        let compiled = patterns.get(pattern)?.as_ref()?;
        self.may_go_on(1 + text.len() / 16).then(|| compiled.is_match(text))
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
        assert_eq!(
            check(&schema, &json!({ "to": "you", "count": 3.0, "tags": ["a"], "size": null }), "arguments"),
            Ok(())
        );
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
            assert_eq!(check(&schema, &value, "arguments").unwrap_err(), wrong, "{value}");
        }
    }

    /// Whether a value is refused, for each.
    fn refused(schema: &Value, values: Value) -> Vec<bool> {
        values.as_array().unwrap().iter().map(|value| check(schema, value, "result").is_err()).collect()
    }

    #[test]
    fn the_keywords_of_2020_12_are_known() {
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
            assert_eq!(refused(&schema, values), expected, "{schema}");
        }
    }

    #[test]
    fn what_cannot_be_told_is_not_refused() {
        for schema in [
            json!({ "$ref": "https://example.com/schema.json" }),
            json!({ "not": { "$ref": "https://example.com/schema.json" } }),
            json!({ "pattern": "(?=lookahead)" }),
            json!({ "pattern": "a".repeat(PATTERN) }),
            json!({ "oneOf": [{ "type": "string" }, { "unevaluatedProperties": false }] }),
            json!({ "type": "surprise" }),
            json!({ "minimum": "a", "enum": 1, "required": 2, "properties": [], "allOf": {} }),
        ] {
            assert_eq!(check(&schema, &json!("text"), "result"), Ok(()), "{schema}");
        }
    }

    #[test]
    fn a_hostile_schema_costs_little() {
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
            drop(check(&schema, &json!(1), "result"));
        }
        let slow = json!({ "items": { "enum": long }, "uniqueItems": true, "contains": { "pattern": "(a*)*b" } });
        drop(check(&slow, &json!(long), "result"));
        drop(check(&json!({ "pattern": "(a*)*b" }), &json!("a".repeat(1_000_000)), "result"));
        assert!(began.elapsed().as_secs() < 20, "each of them ends by its steps: {:?}", began.elapsed());
    }

    #[test]
    fn a_schema_that_turns_in_a_circle_ends() {
        let branches = json!([{ "$ref": "#" }, { "$ref": "#" }]);
        for schema in [json!({ "$ref": "#" }), json!({ "anyOf": branches }), json!({ "allOf": branches })] {
            assert_eq!(check(&schema, &json!(1), "arguments"), Ok(()), "{schema}");
        }
    }
}
