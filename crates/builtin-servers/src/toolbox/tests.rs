use std::collections::BTreeSet;

use super::*;

fn keys(object: &Value) -> BTreeSet<&String> {
    object.as_object().unwrap().keys().collect()
}

fn run(name: &str, arguments: Value) -> ToolResult {
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    let now = "2026-11-21T14:02:11.5Z".parse().unwrap();
    call(name, arguments, now).unwrap()
}

#[test]
fn tells_the_time_in_any_zone_and_city() {
    for (zone, expected) in [
        (json!({}), "2026-11-21T14:02:11+00:00 (Saturday)"),
        (json!({ "timezone": null }), "2026-11-21T14:02:11+00:00 (Saturday)"),
        (json!({ "timezone": "europe/berlin" }), "2026-11-21T15:02:11+01:00 (Saturday)"),
        (json!({ "timezone": "Tokyo" }), "2026-11-21T23:02:11+09:00 (Saturday)"),
        (json!({ "timezone": "new york" }), "2026-11-21T09:02:11-05:00 (Saturday)"),
        (json!({ "timezone": "Pacific/Kiritimati" }), "2026-11-22T04:02:11+14:00 (Sunday)"),
    ] {
        let result = run("current_time", zone.clone());
        assert_eq!((result.to_model_text().as_str(), result.is_error), (expected, false), "{zone}");
    }
    let result = run("current_time", json!({ "timezone": "Tokyo" }));
    assert_eq!(result.structured_content.unwrap()["timezone"], "Asia/Tokyo");
}

#[test]
fn suggests_zones_for_unknown_one() {
    for (zone, hint) in
        [("Asia/Tokio", "Asia/Tokyo"), ("Berln", "Europe/Berlin"), ("zzzzzz", "IANA name"), ("", "IANA")]
    {
        let result = run("current_time", json!({ "timezone": zone }));
        assert!(result.is_error && result.to_model_text().contains(hint), "{zone}: {}", result.to_model_text());
    }
}

#[test]
fn counts_days_from_today() {
    let result = run("days_between", json!({ "to": "2026-12-24" }));
    assert_eq!(result.to_model_text(), "From 2026-11-21 to 2026-12-24: 33 days, 23 of them Monday to Friday.");
    assert_eq!(result.structured_content.unwrap()["days"], 33);
    let result = run("days_between", json!({ "from": "2026-12-24", "to": "Today" }));
    assert_eq!(result.structured_content.unwrap()["days"], -33);
    assert!(run("days_between", json!({ "to": "24.12." })).is_error);
}

#[test]
fn counts_in_a_text() {
    let result = run("text_statistics", json!({ "text": "One strawberry. Two strawberries!\n", "find": "R" }));
    let counts = result.structured_content.unwrap();
    assert_eq!((&counts["words"], &counts["sentences"], &counts["lines"]), (&json!(4), &json!(2), &json!(1)));
    assert_eq!(counts["occurrences"], 6);
}

#[test]
fn rejects_wrong_arguments_with_reason() {
    for (name, arguments, said) in [
        ("calculate", json!({}), "missing field `expression`"),
        ("calculate", json!({ "expression": "1", "x": 1 }), "unknown field `x`"),
        ("calculate", json!({ "expression": [1] }), "must be a text"),
        ("current_time", json!({ "timezone": 5 }), "invalid type"),
    ] {
        let result = run(name, arguments);
        assert!(result.is_error && result.to_model_text().contains(said), "{}", result.to_model_text());
    }
    assert!(call("rm", Map::new(), Timestamp(0)).is_none());
}

#[test]
fn definitions_match_arguments_and_results() {
    let examples = [
        ("current_time", json!({ "timezone": "UTC" })),
        ("calculate", json!({ "expression": "1/3" })),
        ("convert_units", json!({ "value": 1, "from": "m", "to": "ft" })),
        ("days_between", json!({ "from": "2026-01-01", "to": "2027-01-01" })),
        ("text_statistics", json!({ "text": "a", "find": "a" })),
    ];
    let definitions = definitions();
    assert_eq!(definitions.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), examples.each_ref().map(|e| e.0));
    for (tool, (name, arguments)) in definitions.iter().zip(examples) {
        let taken = &tool.input_schema["properties"];
        assert!(keys(taken).is_superset(&keys(&arguments)), "{name}");
        let given = run(name, arguments).structured_content.unwrap();
        assert_eq!(keys(&given), keys(&tool.output_schema.as_ref().unwrap()["properties"]), "{name}");
    }
}
