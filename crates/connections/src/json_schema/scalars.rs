//! Validation of types, numbers, lengths and strings.

use serde_json::Value;

use super::{Fields, SchemaViolation, Validator};

/// Maximum relative distance of a quotient from a whole number: decimal fractions are not exact in binary.
const MULTIPLE_TOLERANCE: f64 = 1e-9;

/// Validates the type of a value.
pub fn validate_type(schema: &Fields, value: &Value, at: &str) -> Result<(), SchemaViolation> {
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
        // Any number without a fractional part is an integer, such as 1.0 (2020-12 validation, 6.1.1).
        "integer" => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0),
        // An unknown type rejects nothing.
        _ => true,
    };
    if types.is_empty() || types.iter().any(fits) {
        return Ok(());
    }
    Err(SchemaViolation::new(at, format!("must be of type {}", types.join(" or "))))
}

/// Returns the bound of a count.
pub fn count(schema: &Fields, name: &str) -> Option<usize> {
    schema.get(name).and_then(Value::as_u64).and_then(|bound| usize::try_from(bound).ok())
}

/// Validates a length by the keywords of its minimum and maximum.
pub fn validate_size(schema: &Fields, [least, most]: [&str; 2], size: usize, at: &str) -> Result<(), SchemaViolation> {
    match (count(schema, least), count(schema, most)) {
        (Some(least), _) if size < least => Err(SchemaViolation::new(at, format!("is shorter than {least}"))),
        (_, Some(most)) if size > most => Err(SchemaViolation::new(at, format!("is longer than {most}"))),
        _ => Ok(()),
    }
}

/// Validates the bounds of a number.
pub fn validate_number(schema: &Fields, number: f64, at: &str) -> Result<(), SchemaViolation> {
    let bound = |name: &str| schema.get(name).and_then(Value::as_f64);
    let is_small = bound("minimum").is_some_and(|least| number < least)
        || bound("exclusiveMinimum").is_some_and(|least| number <= least);
    let is_large = bound("maximum").is_some_and(|most| number > most)
        || bound("exclusiveMaximum").is_some_and(|most| number >= most);
    if is_small {
        return Err(SchemaViolation::new(at, "is too small"));
    }
    if is_large {
        return Err(SchemaViolation::new(at, "is too large"));
    }
    match bound("multipleOf").filter(|step| *step > 0.0).map(|step| (step, number / step)) {
        Some((step, steps)) if (steps - steps.round()).abs() > MULTIPLE_TOLERANCE * steps.abs().max(1.0) => {
            Err(SchemaViolation::new(at, format!("is not a multiple of {step}")))
        }
        _ => Ok(()),
    }
}

impl Validator<'_> {
    /// Validates a string.
    pub(super) fn validate_text(&self, schema: &Fields, text: &str, at: &str) -> Result<(), SchemaViolation> {
        validate_size(schema, ["minLength", "maxLength"], text.chars().count(), at)?;
        let Some(pattern) = schema.get("pattern").and_then(Value::as_str) else { return Ok(()) };
        match self.matches(pattern, text) {
            Some(true) => Ok(()),
            Some(false) => Err(SchemaViolation::new(at, format!("does not match the pattern {pattern}"))),
            None => {
                self.is_uncertain.set(true);
                Ok(())
            }
        }
    }
}
