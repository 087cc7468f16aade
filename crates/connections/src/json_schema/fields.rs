//! Validation of objects.

use serde_json::Value;

use super::scalars::count;
use super::{Fields, SchemaViolation, Validator};

impl Validator<'_> {
    /// Validates the fields of an object.
    pub(super) fn validate_fields(
        &self,
        schema: &Fields,
        fields: &Fields,
        at: &str,
        depth: usize,
    ) -> Result<(), SchemaViolation> {
        validate_required(schema.get("required"), fields, at)?;
        if count(schema, "minProperties").is_some_and(|least| fields.len() < least) {
            return Err(SchemaViolation::new(at, "has too few fields"));
        }
        if count(schema, "maxProperties").is_some_and(|most| fields.len() > most) {
            return Err(SchemaViolation::new(at, "has too many fields"));
        }
        self.validate_dependents(schema, fields, at, depth)?;
        let known = schema.get("properties").and_then(Value::as_object);
        let names = schema.get("propertyNames");
        for (name, value) in fields {
            let at = format!("{at}.{name}");
            if let Some(names) = names {
                self.validate(names, &Value::String(name.clone()), &at, depth + 1)?;
            }
            let schema_of_field = known.and_then(|known| known.get(name));
            if let Some(inner) = schema_of_field {
                self.validate(inner, value, &at, depth + 1)?;
            }
            let is_patterned = self.validate_by_patterns(schema, name, value, &at, depth)?;
            match schema.get("additionalProperties").filter(|_| schema_of_field.is_none() && !is_patterned) {
                Some(Value::Bool(false)) => return Err(SchemaViolation::new(at, "is not known")),
                Some(inner) => self.validate(inner, value, &at, depth + 1)?,
                None => {}
            }
        }
        Ok(())
    }

    /// Validates a field by the patterns that its name matches. Returns whether there are any, or may be.
    fn validate_by_patterns(
        &self,
        schema: &Fields,
        name: &str,
        value: &Value,
        at: &str,
        depth: usize,
    ) -> Result<bool, SchemaViolation> {
        let mut is_patterned = false;
        for (pattern, inner) in schema.get("patternProperties").and_then(Value::as_object).into_iter().flatten() {
            match self.matches(pattern, name) {
                Some(true) => {
                    is_patterned = true;
                    self.validate(inner, value, at, depth + 1)?;
                }
                Some(false) => {}
                // A field that the pattern may cover must not be rejected as an additional one.
                None => {
                    is_patterned = true;
                    self.is_uncertain.set(true);
                }
            }
        }
        Ok(is_patterned)
    }

    /// Validates what some fields require of others.
    fn validate_dependents(
        &self,
        schema: &Fields,
        fields: &Fields,
        at: &str,
        depth: usize,
    ) -> Result<(), SchemaViolation> {
        let dependents = |name: &str| {
            let all = schema.get(name).and_then(Value::as_object).into_iter().flatten();
            all.filter(|(field, _)| fields.contains_key(*field)).map(|(_, inner)| inner)
        };
        for required in dependents("dependentRequired") {
            validate_required(Some(required), fields, at)?;
        }
        for inner in dependents("dependentSchemas") {
            self.validate(inner, &Value::Object(fields.clone()), at, depth + 1)?;
        }
        Ok(())
    }
}

/// Validates that required fields are present.
fn validate_required(required: Option<&Value>, fields: &Fields, at: &str) -> Result<(), SchemaViolation> {
    let mut names = required.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    match names.find(|name| !fields.contains_key(*name)) {
        Some(name) => Err(SchemaViolation::new(format!("{at}.{name}"), "is missing")),
        None => Ok(()),
    }
}
