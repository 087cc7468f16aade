//! The operator's listener of a running server.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use reqwest::Response;
use serde_json::json;
use testkit::{Person, ScriptedMcp, ScriptedModel, Step, databases, http_client};

use crate::program::{Program, free_address, run};

const TOKEN: &str = "the token of an operator who watches";

async fn ask(address: &str, path: &str, token: Option<&str>) -> Response {
    let request = http_client().get(format!("http://{address}{path}"));
    let request = if let Some(token) = token { request.bearer_auth(token) } else { request };
    request.send().await.unwrap()
}

/// Returns the series of a text of metrics with their values, and checks the format: each metric is described before
/// its first value.
fn read(text: &str) -> HashMap<&str, &str> {
    let mut described = HashSet::new();
    let mut values = HashMap::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        if let Some(comment) = line.strip_prefix("# ") {
            let mut words = comment.split(' ');
            let (kind, name) = (words.next().unwrap(), words.next().unwrap());
            assert!(["HELP", "TYPE"].contains(&kind), "{line}");
            described.insert((kind, name));
            continue;
        }
        let (series, value) = line.rsplit_once(' ').unwrap();
        let name = series.split('{').next().unwrap();
        let metric = ["_bucket", "_sum", "_count"]
            .iter()
            .find_map(|suffix| name.strip_suffix(suffix).filter(|metric| described.contains(&("TYPE", *metric))));
        for kind in ["HELP", "TYPE"] {
            assert!(described.contains(&(kind, metric.unwrap_or(name))), "{line} has no {kind}");
        }
        assert!(values.insert(series, value).is_none(), "{line} is there twice");
    }
    values
}

#[tokio::test(flavor = "multi_thread")]
async fn counts_turns_model_calls_tool_calls_and_requests() {
    for database in databases() {
        let mcp = ScriptedMcp::start([json!({ "name": "look_up", "inputSchema": { "type": "object" } })]).await;
        let calls = Step::Calls(vec![("look_up".to_owned(), json!({}))]);
        // Longer than the journal waits for more.
        let secret = Step::Slowly("A secret of the user.".to_owned(), Duration::from_millis(100));
        let steps = [calls, secret, Step::Status(401, "no".to_owned())];
        let model = ScriptedModel::start(steps).await;
        let (folder, address) = (tempfile::TempDir::new().unwrap(), free_address());
        let url = database.create(&folder);
        let settings = [
            ("DATABASE_URL", url.as_str()),
            ("CHAT_MODEL", "openai/scripted"),
            ("CHAT_ADMIN_LISTEN", &address),
            ("CHAT_ADMIN_TOKEN", TOKEN),
        ];
        let program = Program::start_in(folder, &model.base_url, &settings);
        program.until_ready(200).await;
        let person = Person::sign_up_at(&program.url, &http_client()).await;
        let connection = person.connect_to("notes", &mcp.url).await;
        person.allow(&connection, "look_up", "always").await;
        let chat = person.new_chat().await;
        person.ask(&chat, "Look it up", json!([{ "name": "look_up" }])).await;
        person.ask(&chat, "Again", json!([])).await;

        let response = ask(&address, "/metrics", Some(TOKEN)).await;
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/plain; version=0.0.4; charset=utf-8");
        let text = response.text().await.unwrap();
        let values = read(&text);
        let value = |series: &str| *values.get(series).unwrap_or_else(|| panic!("{series} is missing:\n{text}"));
        let origin = mcp.url.split("/mcp").next().unwrap();
        assert_eq!(value(&format!("ai_chat_mcp_tool_calls_total{{server=\"{origin}\",outcome=\"done\"}}")), "1");
        assert_eq!(value(&format!("ai_chat_mcp_tool_call_seconds_count{{server=\"{origin}\"}}")), "1");
        assert_eq!(value("ai_chat_mcp_turns_total{outcome=\"done\"}"), "1");
        assert_eq!(value("ai_chat_mcp_turns_total{outcome=\"failed\"}"), "1");
        assert_eq!(value("ai_chat_mcp_turns_running"), "0");
        assert_eq!(value("ai_chat_mcp_model_calls_total{model=\"openai/scripted\",outcome=\"done\"}"), "2");
        assert_eq!(value("ai_chat_mcp_model_calls_total{model=\"openai/scripted\",outcome=\"failed\"}"), "1");
        assert_eq!(value("ai_chat_mcp_model_first_token_seconds_count{model=\"openai/scripted\"}"), "2");
        assert!(
            value("ai_chat_mcp_model_tokens_total{model=\"openai/scripted\",direction=\"input\"}")
                .parse::<u64>()
                .unwrap()
                > 0
        );
        assert_eq!(value("ai_chat_mcp_connections{state=\"connected\"}"), "1");
        assert_eq!(value("ai_chat_mcp_database_up"), "1");
        assert_eq!(value("ai_chat_mcp_built_in_queue"), "0");
        let ai_chat = "ai_chat_mcp_http_requests_total{method=\"POST\",route=\"/functions/v1/ai-chat\"";
        let answered = values.iter().filter(|(series, _)| series.starts_with(ai_chat));
        assert_eq!(answered.map(|(_, value)| value.parse::<u64>().unwrap()).sum::<u64>(), 2, "{text}");
        assert!(value("ai_chat_mcp_journal_delay_seconds_count").parse::<u64>().unwrap() >= 1);
        assert!(value("process_resident_memory_bytes").parse::<u64>().unwrap() > 1_000_000);
        for private in [person.email.as_str(), &person.id, &chat, "secret", "Look it up"] {
            assert!(!text.contains(private), "{private} is in the metrics");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_health_probes_need_no_token() {
    let model = ScriptedModel::start([]).await;
    let address = free_address();
    let program = Program::start(&model.base_url, &[("CHAT_ADMIN_LISTEN", &address), ("CHAT_ADMIN_TOKEN", TOKEN)]);
    program.until_ready(200).await;
    for token in [None, Some("another token, as long as the right one")] {
        let refused = ask(&address, "/metrics", token).await;
        assert_eq!(refused.status(), 401);
        assert_eq!(refused.headers()["www-authenticate"], "Bearer");
    }
    assert_eq!(ask(&address, "/health/ready", None).await.text().await.unwrap(), "ok");
    assert_eq!(ask(&address, "/health/live", None).await.status(), 200);
    assert_eq!(ask(&address, "/api/sessions/marks", Some(TOKEN)).await.status(), 404, "nothing else is served there");
    let public = http_client().get(format!("{}/metrics", program.url)).bearer_auth(TOKEN).send().await.unwrap();
    assert!(!public.text().await.unwrap().contains("ai_chat_mcp_"), "users' address has no metrics");
}

#[test]
fn an_address_in_use_is_an_error_that_names_the_setting() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let folder = tempfile::TempDir::new().unwrap();
    let settings = [("CHAT_LISTEN", "127.0.0.1:0"), ("CHAT_ADMIN_LISTEN", &address), ("CHAT_ADMIN_TOKEN", TOKEN)];
    let (code, _, error) = run(folder.path(), &settings, &["serve"]);
    assert!(code == 1 && error.contains("set CHAT_ADMIN_LISTEN to another address"), "{error}");
}
