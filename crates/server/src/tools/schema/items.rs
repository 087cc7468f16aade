//! Lists.

use serde_json::Value;

use super::scalars::{check_size, count};
use super::{Checker, Fields, Verdict};

impl Checker<'_> {
    pub(super) fn check_items(&self, schema: &Fields, items: &[Value], at: &str, depth: usize) -> Result<(), String> {
        check_size(schema, ["minItems", "maxItems"], items.len(), at)?;
        let first = schema.get("prefixItems").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let rest = schema.get("items").filter(|items| !items.is_array());
        if rest.is_some() || !first.is_empty() {
            for (index, item) in items.iter().enumerate() {
                if let Some(inner) = first.get(index).or(rest) {
                    self.check(inner, item, &format!("{at}[{index}]"), depth + 1)?;
                }
            }
        }
        if schema.get("uniqueItems") == Some(&Value::Bool(true)) {
            self.check_unique(items, at)?;
        }
        match schema.get("contains") {
            Some(wanted) => self.check_contains(schema, wanted, items, at, depth),
            None => Ok(()),
        }
    }

    fn check_unique(&self, items: &[Value], at: &str) -> Result<(), String> {
        for (index, item) in items.iter().enumerate() {
            if !self.may_go_on(index) {
                self.unsure.set(true);
                return Ok(());
            }
            if items[..index].contains(item) {
                return Err(format!("{at}[{index}]: is there twice"));
            }
        }
        Ok(())
    }

    fn check_contains(
        &self,
        schema: &Fields,
        wanted: &Value,
        items: &[Value],
        at: &str,
        depth: usize,
    ) -> Result<(), String> {
        let (mut found, mut unsure) = (0, 0);
        for item in items {
            match self.verdict(wanted, item, at, depth) {
                Verdict::Fits => found += 1,
                Verdict::Unsure => unsure += 1,
                Verdict::Not(_) => {}
            }
        }
        if unsure > 0 {
            self.unsure.set(true);
        }
        if found + unsure < count(schema, "minContains").unwrap_or(1) {
            return Err(format!("{at}: lacks an item that it has to have"));
        }
        if count(schema, "maxContains").is_some_and(|most| found > most) {
            return Err(format!("{at}: has an item too often"));
        }
        Ok(())
    }
}
