//! Validation of arrays.

use serde_json::Value;

use super::scalars::{count, validate_size};
use super::{Fields, SchemaViolation, Validator, Validity};

impl Validator<'_> {
    /// Validates the items of an array.
    pub(super) fn validate_items(
        &self,
        schema: &Fields,
        items: &[Value],
        at: &str,
        depth: usize,
    ) -> Result<(), SchemaViolation> {
        validate_size(schema, ["minItems", "maxItems"], items.len(), at)?;
        let first = schema.get("prefixItems").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        // A list of schemas here is the form of earlier drafts, which 2020-12 has renamed to `prefixItems`.
        let rest = schema.get("items").filter(|items| !items.is_array());
        if rest.is_some() || !first.is_empty() {
            for (index, item) in items.iter().enumerate() {
                if let Some(inner) = first.get(index).or(rest) {
                    self.validate(inner, item, &format!("{at}[{index}]"), depth + 1)?;
                }
            }
        }
        if schema.get("uniqueItems") == Some(&Value::Bool(true)) {
            self.validate_unique(items, at)?;
        }
        match schema.get("contains") {
            Some(wanted) => self.validate_contains(schema, wanted, items, at, depth),
            None => Ok(()),
        }
    }

    fn validate_unique(&self, items: &[Value], at: &str) -> Result<(), SchemaViolation> {
        for (index, item) in items.iter().enumerate() {
            // Each item is compared with all before it, and costs as many steps.
            if !self.take_steps(index) {
                self.is_uncertain.set(true);
                return Ok(());
            }
            if items[..index].contains(item) {
                return Err(SchemaViolation::new(format!("{at}[{index}]"), "is a duplicate"));
            }
        }
        Ok(())
    }

    fn validate_contains(
        &self,
        schema: &Fields,
        wanted: &Value,
        items: &[Value],
        at: &str,
        depth: usize,
    ) -> Result<(), SchemaViolation> {
        let (mut found, mut uncertain) = (0, 0);
        for item in items {
            match self.validity(wanted, item, at, depth) {
                Validity::Valid => found += 1,
                Validity::Uncertain => uncertain += 1,
                Validity::Invalid(_) => {}
            }
        }
        if uncertain > 0 {
            self.is_uncertain.set(true);
        }
        // The uncertain items count for the minimum and not for the maximum: only a certain violation is one.
        if found + uncertain < count(schema, "minContains").unwrap_or(1) {
            return Err(SchemaViolation::new(at, "lacks a required item"));
        }
        if count(schema, "maxContains").is_some_and(|most| found > most) {
            return Err(SchemaViolation::new(at, "contains an item too often"));
        }
        Ok(())
    }
}
