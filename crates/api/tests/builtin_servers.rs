//! The built-in MCP servers, through the product's MCP client and through plain HTTP.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use mcp::net::{GuardedHttp, NetworkPolicy};
use mcp::{CallError, CallOptions, Client, Connection, ConnectionTarget};
use reqwest::{Method, Response, StatusCode};
use serde_json::{Map, Value, json};
use testkit::{Database, TestApp};
use tokio_util::sync::CancellationToken;

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const MODERN: &str = "2026-07-28";

async fn connect(app: &TestApp, path: &str, token: Option<&str>) -> Result<Connection, mcp::Error> {
    let client = Client::new(GuardedHttp::new(NetworkPolicy::new(&[], true, Vec::new())).unwrap());
    let mut target = ConnectionTarget::new(format!("{}{path}", app.url).parse().unwrap());
    if let Some(token) = token {
        target = target.with_header("authorization", &format!("Bearer {token}")).unwrap();
    }
    client.connect(target, &CancellationToken::new()).await
}

fn arguments(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

/// Sends a message with these headers; the content type is JSON unless they say otherwise.
async fn send(app: &TestApp, headers: &[(&str, &str)], body: impl Into<reqwest::Body>) -> Response {
    let mut request = app.http.post(format!("{}/mcp/toolbox", app.url)).body(body);
    if !headers.iter().any(|(name, _)| *name == "content-type") {
        request = request.header("content-type", "application/json");
    }
    headers.iter().fold(request, |request, (name, value)| request.header(*name, *value)).send().await.unwrap()
}

async fn ask(app: &TestApp, headers: &[(&str, &str)], method: &str, params: Value) -> (StatusCode, Value) {
    let message = json!({ "jsonrpc": "2.0", "id": "a", "method": method, "params": params });
    let answer = send(app, headers, message.to_string()).await;
    let status = answer.status();
    let body: Value = answer.json().await.unwrap();
    assert_eq!(body["id"], "a", "{body}");
    (status, body)
}

/// Adds the metadata of a modern client to parameters.
fn with_meta(mut params: Value) -> Value {
    params["_meta"] = json!({ VERSION: MODERN, CAPABILITIES: {} });
    params
}

#[tokio::test]
async fn our_own_client_speaks_the_modern_revision_with_the_toolbox() {
    let app = TestApp::start().await;
    let connection = connect(&app, "/mcp/toolbox", None).await.unwrap();
    let info = connection.info();
    assert_eq!((info.name.as_str(), info.protocol_version.as_str()), ("toolbox", MODERN));
    assert!(info.instructions.is_some());
    let tools = connection.list_tools().await.unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["current_time", "calculate", "convert_units", "days_between", "text_statistics"]);
    for tool in &tools {
        let annotations = tool.annotations.as_ref().unwrap();
        assert_eq!((annotations.read_only_hint, annotations.open_world_hint), (Some(true), Some(false)));
        assert_eq!(tool.input_schema["additionalProperties"], false);
    }

    let call =
        async |name: &str, input: Value| connection.call_tool(name, arguments(input), CallOptions::default()).await;
    let sum = call("calculate", json!({ "expression": "0.1 + 0.2" })).await.unwrap();
    assert_eq!((sum.to_model_text().as_str(), sum.is_error), ("0.3", false));
    assert_eq!(sum.structured_content.unwrap()["exact"], true);
    let fault = call("calculate", json!({ "expression": "1 / 0" })).await.unwrap();
    assert!(fault.is_error && fault.to_model_text().contains("at position 3: division by zero"));
    let unknown = call("launch", json!({})).await.unwrap_err();
    assert!(matches!(unknown, CallError::Server { code: -32602, .. }), "{unknown:?}");
    connection.close().await;
    app.stop().await;
}

#[tokio::test]
async fn a_persons_drive_is_theirs_alone() {
    let app = TestApp::on(Database::of_environment()).await;
    let person = app.person().await;
    let refused = connect(&app, "/mcp/google-drive", None).await.unwrap_err();
    assert!(matches!(refused, mcp::Error::Unauthorized { .. }), "{refused:?}");
    assert!(connect(&app, "/mcp/google-drive", Some("not a token")).await.is_err());
    let connection = connect(&app, "/mcp/google-drive", Some(&person.token)).await.unwrap();
    let tools = connection.list_tools().await.unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["google_drive_list_files", "google_drive_read_file", "google_drive_create_file"]);
    connection.close().await;

    // The product connects on behalf of the user.
    let url = format!("{}/mcp/google-drive", app.url);
    let (status, found) = person.post("/functions/v1/mcp-proxy", &json!({ "url": url })).await;
    assert_eq!((status, &found["success"], &found["error"]), (StatusCode::OK, &json!(true), &Value::Null));
    let bare = app.http.post(&url).json(&json!({})).send().await.unwrap();
    assert_eq!(
        (bare.status(), bare.headers()["www-authenticate"].as_bytes()),
        (StatusCode::UNAUTHORIZED, &b"Bearer"[..])
    );
    app.stop().await;
}

#[tokio::test]
async fn clients_of_the_older_revisions_are_served() {
    let app = TestApp::start().await;
    for (asked, given) in [
        ("2025-11-25", "2025-11-25"),
        ("2025-06-18", "2025-06-18"),
        ("2025-03-26", "2025-03-26"),
        ("2024-11-05", "2025-11-25"),
        ("2099-01-01", "2025-11-25"),
    ] {
        let params =
            json!({ "protocolVersion": asked, "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
        let (status, body) = ask(&app, &[], "initialize", params).await;
        assert_eq!((status, &body["result"]["protocolVersion"]), (StatusCode::OK, &json!(given)));
        assert_eq!(body["result"]["serverInfo"]["name"], "toolbox");
        assert_eq!(body["result"]["capabilities"], json!({ "tools": {} }));

        let header: &[(&str, &str)] = &[("mcp-protocol-version", given)];
        let note = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let answer = send(&app, header, note.to_string()).await;
        assert_eq!((answer.status(), answer.text().await.unwrap().as_str()), (StatusCode::ACCEPTED, ""));
        assert_eq!(ask(&app, header, "ping", json!({})).await.1["result"], json!({}));
        let (_, listed) = ask(&app, header, "tools/list", json!({})).await;
        assert_eq!(listed["result"]["tools"].as_array().unwrap().len(), 5);
        assert_eq!(listed["result"].as_object().unwrap().len(), 1, "nothing of the modern revision");
        let (_, called) =
            ask(&app, header, "tools/call", json!({ "name": "calculate", "arguments": { "expression": "6*7" } })).await;
        assert_eq!(called["result"]["content"], json!([{ "type": "text", "text": "42" }]));
        let (status, body) = ask(&app, header, "resources/list", json!({})).await;
        assert_eq!((status, &body["error"]["code"]), (StatusCode::OK, &json!(-32601)));
    }
    // The header was introduced with 2025-06-18.
    assert!(ask(&app, &[], "tools/list", json!({})).await.1["result"]["tools"].is_array());
    let (status, body) = ask(&app, &[("mcp-protocol-version", "2020-01-01")], "tools/list", json!({})).await;
    assert_eq!((status, &body["error"]["code"]), (StatusCode::BAD_REQUEST, &json!(-32022)));
    app.stop().await;
}

#[tokio::test]
async fn a_modern_request_says_everything_twice_and_the_same() {
    let app = TestApp::start().await;
    let version = ("mcp-protocol-version", MODERN);
    let named: &[(&str, &str)] = &[version, ("mcp-method", "tools/call"), ("mcp-name", "calculate")];
    let call = with_meta(json!({ "name": "calculate", "arguments": { "expression": "6*7" } }));

    let (status, body) = ask(&app, named, "tools/call", call.clone()).await;
    assert_eq!((status, &body["result"]["resultType"]), (StatusCode::OK, &json!("complete")));
    assert_eq!(body["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "toolbox");
    let encoded = [version, ("mcp-method", "tools/call"), ("mcp-name", "=?base64?Y2FsY3VsYXRl?=")];
    assert_eq!(ask(&app, &encoded, "tools/call", call.clone()).await.0, StatusCode::OK);
    let discovering = [version, ("mcp-method", "server/discover")];
    let (_, body) = ask(&app, &discovering, "server/discover", with_meta(json!({}))).await;
    assert_eq!(body["result"]["supportedVersions"][0], MODERN);
    assert_eq!((&body["result"]["cacheScope"], body["result"]["ttlMs"].is_u64()), (&json!("public"), true));

    let without = |key: &str| {
        let mut call = call.clone();
        call["_meta"].as_object_mut().unwrap().remove(key);
        call
    };
    let mut ancient = call.clone();
    ancient["_meta"][VERSION] = json!("1900-01-01");
    for (headers, method, params, status, code) in [
        (&named[1..], "tools/call", call.clone(), 400, -32020),
        (&named[..1], "tools/call", call.clone(), 400, -32020),
        (&named[..2], "tools/call", call.clone(), 400, -32020),
        (&[version, ("mcp-method", "tools/list"), named[2]][..], "tools/call", call.clone(), 400, -32020),
        (&[version, named[1], ("mcp-name", "current_time")][..], "tools/call", call.clone(), 400, -32020),
        (&[version, named[1], ("mcp-name", "=?base64?%%?=")][..], "tools/call", call.clone(), 400, -32020),
        (&[("mcp-protocol-version", "2025-11-25")][..], "tools/call", call.clone(), 400, -32020),
        (&[("mcp-protocol-version", "1900-01-01")][..], "tools/call", ancient, 400, -32022),
        (named, "tools/call", without(VERSION), 400, -32602),
        (named, "tools/call", without(CAPABILITIES), 400, -32602),
        (&[][..], "server/discover", json!({}), 400, -32602),
        (&[version, ("mcp-method", "ping")][..], "ping", with_meta(json!({})), 404, -32601),
        (&[version, ("mcp-method", "a/b")][..], "a/b", with_meta(json!({})), 404, -32601),
        (&[version, ("mcp-method", "tools/list")][..], "tools/list", with_meta(json!({ "cursor": "2" })), 200, -32602),
    ] {
        let (given, body) = ask(&app, headers, method, params).await;
        assert_eq!((given.as_u16(), &body["error"]["code"]), (status, &json!(code)), "{method} {headers:?}: {body}");
        if code == -32022 {
            let expected = json!({ "supported": ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"], "requested": "1900-01-01" });
            assert_eq!(body["error"]["data"], expected);
        }
    }
    app.stop().await;
}

#[tokio::test]
async fn what_is_no_message_is_refused_at_the_door() {
    let app = TestApp::start().await;
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }).to_string();
    for (body, code) in [
        ("{", -32700),
        ("", -32700),
        ("[]", -32600),
        (&format!("[{list}]"), -32600),
        ("3", -32600),
        (r#"{"id":1,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}"#, -32600),
    ] {
        let answer = send(&app, &[], body.to_owned()).await;
        assert_eq!(answer.status(), StatusCode::BAD_REQUEST, "{body}");
        assert_eq!(answer.json::<Value>().await.unwrap()["error"]["code"], code, "{body}");
    }
    let own = app.url.as_str();
    for (headers, status) in [
        (&[("content-type", "text/plain")][..], 415),
        (&[("origin", own)][..], 200),
        (&[("origin", "https://evil.example")][..], 403),
        (&[("origin", "null")][..], 403),
        (&[("origin", "http://evil.example"), ("host", "evil.example")][..], 403),
        (&[("host", "evil.example")][..], 403),
        (&[("host", "localhost")][..], 200),
    ] {
        assert_eq!(send(&app, headers, list.clone()).await.status().as_u16(), status, "{headers:?}");
    }
    for method in [Method::GET, Method::DELETE] {
        let answer = app.http.request(method, format!("{}/mcp/toolbox", app.url)).send().await.unwrap();
        assert_eq!(
            (answer.status(), answer.headers()["allow"].as_bytes()),
            (StatusCode::METHOD_NOT_ALLOWED, &b"POST"[..])
        );
    }
    app.stop().await;
}
