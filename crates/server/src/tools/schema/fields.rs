//! Objects.

use serde_json::Value;

use super::scalars::count;
use super::{Checker, Fields};

impl Checker<'_> {
    pub(super) fn check_fields(&self, schema: &Fields, fields: &Fields, at: &str, depth: usize) -> Result<(), String> {
        check_required(schema.get("required"), fields, at)?;
        if count(schema, "minProperties").is_some_and(|least| fields.len() < least) {
            return Err(format!("{at}: has too few fields"));
        }
        if count(schema, "maxProperties").is_some_and(|most| fields.len() > most) {
            return Err(format!("{at}: has too many fields"));
        }
        self.check_dependents(schema, fields, at, depth)?;
        let known = schema.get("properties").and_then(Value::as_object);
        let names = schema.get("propertyNames");
        for (name, value) in fields {
            let at = format!("{at}.{name}");
            if let Some(names) = names {
                self.check(names, &Value::String(name.clone()), &at, depth + 1)?;
            }
            let own = known.and_then(|known| known.get(name));
            if let Some(inner) = own {
                self.check(inner, value, &at, depth + 1)?;
            }
            let is_patterned = self.check_patterns(schema, name, value, &at, depth)?;
            match schema.get("additionalProperties").filter(|_| own.is_none() && !is_patterned) {
                Some(Value::Bool(false)) => return Err(format!("{at}: is not known")),
                Some(inner) => self.check(inner, value, &at, depth + 1)?,
                None => {}
            }
        }
        Ok(())
    }

    /// Checks a field by the patterns that its name fits. Whether there are any, or it cannot be told.
    fn check_patterns(
        &self,
        schema: &Fields,
        name: &str,
        value: &Value,
        at: &str,
        depth: usize,
    ) -> Result<bool, String> {
        let mut is_patterned = false;
        for (pattern, inner) in schema.get("patternProperties").and_then(Value::as_object).into_iter().flatten() {
            match self.matches(pattern, name) {
                Some(true) => {
                    is_patterned = true;
                    self.check(inner, value, at, depth + 1)?;
                }
                Some(false) => {}
                None => {
                    is_patterned = true;
                    self.unsure.set(true);
                }
            }
        }
        Ok(is_patterned)
    }

    fn check_dependents(&self, schema: &Fields, fields: &Fields, at: &str, depth: usize) -> Result<(), String> {
        let dependents = |name: &str| {
            let all = schema.get(name).and_then(Value::as_object).into_iter().flatten();
            all.filter(|(field, _)| fields.contains_key(*field)).map(|(_, inner)| inner)
        };
        for required in dependents("dependentRequired") {
            check_required(Some(required), fields, at)?;
        }
        for inner in dependents("dependentSchemas") {
            self.check(inner, &Value::Object(fields.clone()), at, depth + 1)?;
        }
        Ok(())
    }
}

fn check_required(required: Option<&Value>, fields: &Fields, at: &str) -> Result<(), String> {
    let mut names = required.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    match names.find(|name| !fields.contains_key(*name)) {
        Some(name) => Err(format!("{at}.{name}: is missing")),
        None => Ok(()),
    }
}
