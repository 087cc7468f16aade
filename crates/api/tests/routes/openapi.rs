//! The OpenAPI document describes exactly the routes of the table.

use std::collections::BTreeSet;

use serde_json::Value;
use testkit::TestApp;

type Calls = BTreeSet<(String, String)>;

#[tokio::test]
async fn the_description_names_every_route_once_and_no_other() {
    let app = TestApp::start().await;
    let document: Value =
        app.http.get(format!("{}/api/openapi.json", app.url)).send().await.unwrap().json().await.unwrap();
    let mut described = Calls::new();
    for (path, calls) in document["paths"].as_object().unwrap() {
        described.extend(calls.as_object().unwrap().keys().map(|method| (path.clone(), method.to_uppercase())));
    }
    let table: Calls = api::entries().into_iter().map(|entry| (entry.path, entry.method.to_string())).collect();
    assert_eq!(described, table);
    let mut operations: Vec<(String, String)> =
        api::openapi::list_operations().unwrap().into_iter().map(|(path, method)| (path, method.to_string())).collect();
    operations.sort();
    assert_eq!(operations, Vec::from_iter(table), "a call is described twice, or is no route");
}

#[tokio::test]
async fn every_schema_has_a_name_of_its_own() {
    let app = TestApp::start().await;
    let document: Value =
        app.http.get(format!("{}/api/openapi.json", app.url)).send().await.unwrap().json().await.unwrap();
    for name in document["components"]["schemas"].as_object().unwrap().keys() {
        // `schemars` appends a number to the name of the second of two types.
        assert!(!name.ends_with(|last: char| last.is_ascii_digit()), "two types are named {name}");
    }
}

#[tokio::test]
async fn every_reference_of_the_description_leads_somewhere() {
    let app = TestApp::start().await;
    let document: Value =
        app.http.get(format!("{}/api/openapi.json", app.url)).send().await.unwrap().json().await.unwrap();
    let mut references = Vec::new();
    collect(&document, &mut references);
    assert!(references.len() > 50);
    for reference in references {
        assert!(document.pointer(reference.trim_start_matches('#')).is_some(), "{reference}");
    }
}

fn collect<'a>(value: &'a Value, references: &mut Vec<&'a str>) {
    match value {
        Value::Object(fields) => {
            references.extend(fields.get("$ref").and_then(Value::as_str));
            fields.values().for_each(|value| collect(value, references));
        }
        Value::Array(items) => items.iter().for_each(|value| collect(value, references)),
        _ => {}
    }
}
