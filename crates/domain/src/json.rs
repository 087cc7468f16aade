//! Conversion of the workspace's own types to JSON.

use serde::Serialize;
use serde_json::Value;

/// Returns `value` as JSON. For types of this workspace, all of which have a JSON form.
///
/// # Panics
///
/// Panics if `value` has no JSON form, such as a map whose keys are not strings. This is a mistake in the type. It must
/// not become an empty value, which would then be stored, or be equal to another one where definitions are compared.
#[track_caller]
#[expect(clippy::panic, reason = "the mistake is in the type, and every value of it fails")]
pub fn to_json(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_else(|error| panic!("a type has no JSON form: {error}"))
}

/// Returns `value` as JSON text. For types of this workspace, all of which have a JSON form.
///
/// # Panics
///
/// As [`to_json`].
#[track_caller]
#[expect(clippy::panic, reason = "the mistake is in the type, and every value of it fails")]
pub fn to_json_text(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|error| panic!("a type has no JSON form: {error}"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn converts_values_and_texts() {
        assert_eq!(to_json(&[1, 2]), serde_json::json!([1, 2]));
        assert_eq!(to_json_text(&Some("a")), r#""a""#);
    }

    #[test]
    #[should_panic(expected = "a type has no JSON form")]
    fn rejects_types_without_a_json_form() {
        to_json(&BTreeMap::from([([1], 2)]));
    }
}
