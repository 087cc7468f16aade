//! Traces of the server at a real collector.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs::File;
use std::process::Stdio;
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::{
    CallAnswer, OtlpCollector, Person, ReceivedSpan, ScriptedMcp, ScriptedModel, Step, databases, events_of,
    http_client,
};

use crate::program::{Program, free_address, run};

/// Trace context of a client, and the ids in it.
const TRACEPARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const CLIENT_TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const CLIENT_SPAN: &str = "00f067aa0ba902b7";

/// Texts of users, models, tools and servers that no span may contain by default.
const QUESTION: &str = "Where did I leave my umbrella";
const ANSWER: &str = "It is in the hall cupboard.";
const ARGUMENT: &str = "umbrella-argument";
const RESULT: &str = "cupboard-result";
const DESCRIPTION: &str = "Finds what was mislaid";
const QUERY: &str = "key=of-the-url";

const ADMIN_TOKEN: &str = "the token of an operator who watches";

/// A server with a model and an MCP server, whose spans go to a collector.
struct Setup {
    collector: OtlpCollector,
    program: Program,
    person: Person,
    chat: String,
    connection: String,
    model: ScriptedModel,
    mcp: ScriptedMcp,
}

impl Setup {
    /// Starts everything, with a user who has a chat and always allows the tool `find`.
    async fn start(settings: &[(&str, &str)], database_url: Option<&str>, folder: TempDir) -> Self {
        Self::start_with(json!({}), settings, database_url, folder).await
    }

    /// Starts everything, with this `execution` of the tool.
    async fn start_with(
        execution: Value,
        settings: &[(&str, &str)],
        database_url: Option<&str>,
        folder: TempDir,
    ) -> Self {
        let collector = OtlpCollector::start().await;
        let input = json!({ "type": "object" });
        let tool = json!({ "name": "find", "description": DESCRIPTION, "inputSchema": input, "execution": execution });
        let mcp = ScriptedMcp::start([tool]).await;
        mcp.answer([CallAnswer::Result(json!({ "content": [{ "type": "text", "text": RESULT }] }))]);
        let calls = Step::Calls(vec![("find".to_owned(), json!({ "what": ARGUMENT }))]);
        let model = ScriptedModel::start([calls, Step::Text(ANSWER.to_owned())]).await;
        let mut all = vec![
            ("CHAT_MODEL", "openai/scripted"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", collector.endpoint.as_str()),
            ("OTEL_BSP_SCHEDULE_DELAY", "50"),
        ];
        all.extend(database_url.map(|url| ("DATABASE_URL", url)));
        all.extend(settings);
        let log = File::create(folder.path().join("log")).unwrap();
        let program = Program::start_logging(folder, &model.base_url, &all, Stdio::from(log));
        program.until_ready(200).await;
        let person = Person::sign_up_at(&program.url, &http_client()).await;
        let connection = person.connect_to("notes", &format!("{}?{QUERY}", mcp.url)).await;
        person.allow(&connection, "find", "always").await;
        let chat = person.new_chat().await;
        Self { collector, program, person, chat, connection, model, mcp }
    }

    /// Sends the question with the trace context of a client, and reads the answer.
    async fn ask(&self) {
        let body = json!({ "message": QUESTION, "sessionId": self.chat, "tools": [{ "name": "find" }] });
        let request = self.person.request(Method::POST, "/functions/v1/ai-chat").json(&body);
        let answer = request.header("traceparent", TRACEPARENT).header("accept", "text/event-stream").send().await;
        let events = events_of(&answer.unwrap().text().await.unwrap());
        assert!(events.iter().any(|event| event.data["type"] == "finish"), "{events:?}");
    }

    async fn turn(&self) -> ReceivedSpan {
        self.collector.wait_for(|span| span.name == "invoke_agent").await
    }

    /// Returns the log so far.
    fn log(&self) -> String {
        std::fs::read_to_string(self.program.folder.path().join("log")).unwrap()
    }
}

fn children<'a>(spans: &'a [ReceivedSpan], parent: &ReceivedSpan) -> Vec<&'a ReceivedSpan> {
    let mut children: Vec<_> = spans.iter().filter(|span| span.parent_id == parent.span_id).collect();
    children.sort_by_key(|span| span.times);
    children
}

#[tokio::test(flavor = "multi_thread")]
async fn traces_turn_from_request_to_tool_call() {
    for database in databases() {
        let folder = TempDir::new().unwrap();
        let url = database.create(&folder);
        let settings = [
            ("OTEL_EXPORTER_OTLP_HEADERS", "api-key=of%20the%20collector"),
            ("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test"),
        ];
        let setup = Setup::start(&settings, Some(&url), folder).await;
        setup.ask().await;
        let listed = setup.person.request(Method::GET, "/rest/v1/mcp_servers?select=id").send().await.unwrap();
        assert_eq!(listed.status(), 200);
        let turn = setup.turn().await;
        let request = setup.collector.wait_for(|span| span.name == "POST /functions/v1/ai-chat").await;
        assert_eq!((request.trace_id.as_str(), request.parent_id.as_str()), (CLIENT_TRACE, CLIENT_SPAN));
        assert_eq!(request.kind, "Server");
        assert_eq!(request.attribute("http.route"), "/functions/v1/ai-chat");
        assert_eq!(request.attribute("http.response.status_code"), "200");

        assert_eq!(turn.parent_id, "", "a turn is a trace of its own");
        assert_ne!(turn.trace_id, CLIENT_TRACE);
        assert_eq!(turn.links, [(request.trace_id.clone(), request.span_id.clone())]);
        assert_eq!(turn.attribute("gen_ai.conversation.id"), setup.chat);
        assert_eq!(turn.attribute("user.id"), setup.person.id);
        assert_eq!(turn.attribute("ai_chat_mcp.turn.status"), "done");
        assert_eq!(turn.attribute("ai_chat_mcp.turn.is_resumed"), "false");
        assert_eq!(turn.resource["service.name"], "ai-chat-mcp");
        assert_eq!(turn.resource["deployment.environment.name"], "test");

        let spans = setup.collector.spans();
        let steps: Vec<_> = children(&spans, &turn).into_iter().filter(|span| span.name == "step").collect();
        assert_eq!(steps.iter().map(|step| step.attribute("ai_chat_mcp.step")).collect::<Vec<_>>(), ["0", "1"]);
        let first: Vec<_> = children(&spans, steps[0]).into_iter().filter(|span| span.kind == "Client").collect();
        let [model_call] = *first.iter().filter(|span| span.name == "chat scripted").collect::<Vec<_>>() else {
            panic!("{first:#?}")
        };
        assert_eq!(model_call.attribute("gen_ai.operation.name"), "chat");
        assert_eq!(model_call.attribute("gen_ai.provider.name"), "openai");
        assert_eq!(model_call.attribute("gen_ai.request.model"), "scripted");
        assert_eq!(model_call.attribute("gen_ai.response.finish_reasons"), "tool_call");
        assert!(model_call.attribute("gen_ai.usage.input_tokens").parse::<u64>().unwrap() > 0);
        assert!(model_call.attribute("gen_ai.usage.output_tokens").parse::<u64>().unwrap() > 0);
        assert!(model_call.attribute("gen_ai.response.time_to_first_chunk").parse::<f64>().unwrap() > 0.0);
        assert!(!model_call.is_error);
        let [tool_call] = *first.iter().filter(|span| span.name == "execute_tool find").collect::<Vec<_>>() else {
            panic!("{first:#?}")
        };
        assert_eq!(tool_call.attribute("gen_ai.tool.name"), "find");
        assert_eq!(tool_call.attribute("mcp.method.name"), "tools/call");
        assert_eq!(tool_call.attribute("server.address"), "127.0.0.1");
        assert!(!tool_call.is_error);
        assert!(model_call.times.1 <= tool_call.times.0, "the tool is called after the model");
        assert!(children(&spans, steps[1]).iter().any(|span| span.name == "chat scripted"));
        for span in spans.iter().filter(|span| span.trace_id == turn.trace_id) {
            assert!(turn.times.0 <= span.times.0 && span.times.1 <= turn.times.1, "{span:?} is outside the turn");
        }

        let stored = spans.iter().find(|span| span.name == "storage::chats transaction").unwrap();
        let system = if url.starts_with("sqlite") { "sqlite" } else { "postgresql" };
        assert_eq!(stored.attribute("db.system.name"), system);
        let listed = setup.collector.wait_for(|span| span.name == "GET /rest/v1/{table}").await;
        let spans = setup.collector.spans();
        assert!(children(&spans, &listed).iter().any(|span| span.name == "storage::raw read"), "{spans:#?}");
        // Set up before the turn, by a request that inserts a row.
        let inserted = spans.iter().find(|span| span.name == "storage::raw transaction").unwrap();
        assert!(spans.iter().any(|span| span.span_id == inserted.parent_id && span.name == "POST /rest/v1/{table}"));
        assert!(
            spans.iter().all(|span| !span.parent_id.is_empty() || span.attribute("db.system.name").is_empty()),
            "work in the background is traced: {spans:#?}"
        );
        assert!(spans.iter().all(|span| !span.name.contains("/health/")));

        for private in [QUESTION, ANSWER, ARGUMENT, RESULT, DESCRIPTION, QUERY, &setup.person.email, "notes"] {
            assert!(!setup.collector.has_received(private), "{private} is in a span");
        }
        assert!(setup.collector.headers().iter().all(|headers| headers["api-key"] == "of the collector"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn spans_contain_messages_if_the_operator_asks() {
    let settings = [
        ("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"),
        ("OTEL_SERVICE_NAME", "chat of a test"),
    ];
    let setup = Setup::start(&settings, None, TempDir::new().unwrap()).await;
    setup.ask().await;
    let turn = setup.turn().await;
    assert_eq!(turn.resource["service.name"], "chat of a test");
    assert!(setup.collector.headers().iter().all(|headers| headers["content-type"] == "application/json"));
    let spans = setup.collector.spans();
    let tool_call = spans.iter().find(|span| span.name == "execute_tool find").unwrap();
    assert_eq!(tool_call.attribute("gen_ai.tool.call.arguments"), json!({ "what": ARGUMENT }).to_string());
    assert!(tool_call.attribute("gen_ai.tool.call.result").contains(RESULT));
    let mut calls: Vec<_> = spans.iter().filter(|span| span.name == "chat scripted").collect();
    calls.retain(|span| span.trace_id == turn.trace_id);
    calls.sort_by_key(|span| span.times);
    let parsed = |span: &ReceivedSpan, name: &str| serde_json::from_str::<Value>(span.attribute(name)).unwrap();
    let input = parsed(calls[1], "gen_ai.input.messages");
    let roles: Vec<_> = input.as_array().unwrap().iter().map(|message| message["role"].clone()).collect();
    assert_eq!(roles, ["user", "assistant", "tool"]);
    assert_eq!(input[0]["parts"][0]["content"], QUESTION);
    assert_eq!(input[1]["parts"][0]["arguments"]["what"], ARGUMENT);
    assert_eq!(input[2]["parts"][0]["response"], RESULT);
    let output = parsed(calls[1], "gen_ai.output.messages");
    assert_eq!(output[0]["parts"], json!([{ "type": "text", "content": ANSWER }]));
    assert_eq!(output[0]["finish_reason"], "stop");
    assert!(!calls[1].attribute("gen_ai.system_instructions").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn log_lines_have_the_ids_of_their_span() {
    let setup = Setup::start(&[("RUST_LOG", "accounts=info")], None, TempDir::new().unwrap()).await;
    let body = json!({ "email": setup.person.email, "password": "wrong" });
    let request = http_client().post(format!("{}/auth/v1/token?grant_type=password", setup.program.url));
    let refused = request.header("traceparent", TRACEPARENT).json(&body).send().await.unwrap();
    assert_eq!(refused.status(), 400);
    setup.collector.wait_for(|span| span.trace_id == CLIENT_TRACE && span.parent_id == CLIENT_SPAN).await;
    let log = setup.log();
    let lines: Vec<Value> = log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let line = lines.iter().find(|line| line["trace_id"] == CLIENT_TRACE).unwrap_or_else(|| panic!("{log}"));
    assert!(line["fields"]["message"].is_string(), "{line}");
    setup.collector.wait_for(|span| line["span_id"] == span.span_id.as_str()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_model_calls_have_a_kind_of_error() {
    let setup = Setup::start(&[], None, TempDir::new().unwrap()).await;
    setup.model.replace_steps([Step::Status(401, "the key of-the-operator is wrong".to_owned())]);
    setup.person.ask(&setup.chat, QUESTION, json!([])).await;
    let turn = setup.turn().await;
    assert_eq!((turn.attribute("ai_chat_mcp.turn.status"), turn.is_error), ("failed", true));
    let call = setup.collector.wait_for(|span| span.name == "chat scripted").await;
    assert_eq!((call.attribute("error.type"), call.is_error), ("unauthorized", true));
    assert!(!setup.collector.has_received("of-the-operator"));
}

#[tokio::test(flavor = "multi_thread")]
async fn resumed_turn_has_a_span_of_its_own() {
    let setup = Setup::start(&[], None, TempDir::new().unwrap()).await;
    setup.person.allow(&setup.connection, "find", "ask").await;
    let (_, waiting) = setup.person.ask(&setup.chat, QUESTION, json!([{ "name": "find" }])).await;
    assert_eq!(waiting["approvals"].as_array().unwrap().len(), 1, "{waiting}");
    let Setup { collector, program, model, .. } = setup;
    // Shut down while the turn waits for its user.
    let folder = program.stop();
    let before = collector.wait_for(|span| span.attribute("ai_chat_mcp.turn.status") == "detached").await;
    let settings = [("CHAT_MODEL", "openai/scripted"), ("OTEL_EXPORTER_OTLP_ENDPOINT", collector.endpoint.as_str())];
    let program = Program::start_in(folder, &model.base_url, &settings);
    program.until_ready(200).await;
    // The last spans are exported at shutdown, long before the next regular batch.
    drop(program.stop());
    let after = collector.wait_for(|span| span.attribute("ai_chat_mcp.turn.is_resumed") == "true").await;
    assert_eq!(after.attribute("ai_chat_mcp.turn.id"), before.attribute("ai_chat_mcp.turn.id"));
    assert_ne!(after.trace_id, before.trace_id);
}

#[tokio::test(flavor = "multi_thread")]
async fn spans_end_before_the_connection_that_was_opened_in_them() {
    let setup = Setup::start(&[], None, TempDir::new().unwrap()).await;
    let Setup { collector, program, person, chat, model, mcp, .. } = setup;
    // The server that is started again has no connection yet, so that the turn opens it.
    let folder = program.stop();
    let settings = [
        ("CHAT_MODEL", "openai/scripted"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", collector.endpoint.as_str()),
        ("OTEL_BSP_SCHEDULE_DELAY", "50"),
    ];
    let program = Program::start_in(folder, &model.base_url, &settings);
    program.until_ready(200).await;
    let body = json!({ "message": QUESTION, "sessionId": chat, "tools": [{ "name": "find" }] });
    let request = http_client().post(format!("{}/functions/v1/ai-chat", program.url)).bearer_auth(&person.token);
    assert_eq!(request.json(&body).send().await.unwrap().status(), 200);
    assert_eq!(mcp.calls().len(), 1);
    let turn = collector.wait_for(|span| span.name == "invoke_agent").await;
    assert_eq!(turn.attribute("ai_chat_mcp.turn.status"), "done");
    assert!(collector.spans().iter().any(|span| span.name == "execute_tool find"));
    program.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn resumed_task_is_traced_and_counted_like_a_tool_call() {
    for database in databases() {
        for (is_forgotten, error_type) in [(false, ""), (true, "unknown")] {
            let folder = TempDir::new().unwrap();
            let url = database.create(&folder);
            let execution = json!({ "taskSupport": "required" });
            let setup = Setup::start_with(execution, &[], Some(&url), folder).await;
            setup.mcp.say("status-of-the-task");
            let tools = json!([{ "name": "find" }]);
            let mut stream = setup.person.ask_streaming(&setup.chat, QUESTION, tools).await;
            let mut seen = String::new();
            // The event says that the task is stored.
            while !seen.contains("data-mcp-task") {
                seen.push_str(&String::from_utf8_lossy(&stream.chunk().await.unwrap().unwrap()));
            }
            let Setup { collector, program, model, mcp, person, .. } = setup;
            let folder = program.stop();
            let before = collector.wait_for(|span| span.attribute("ai_chat_mcp.turn.status") == "detached").await;
            if is_forgotten {
                mcp.forget_tasks();
            } else {
                mcp.finish_tasks();
            }
            let address = free_address();
            let settings = [
                ("CHAT_MODEL", "openai/scripted"),
                ("OTEL_EXPORTER_OTLP_ENDPOINT", collector.endpoint.as_str()),
                ("OTEL_BSP_SCHEDULE_DELAY", "50"),
                ("DATABASE_URL", &url),
                ("CHAT_ADMIN_LISTEN", &address),
                ("CHAT_ADMIN_TOKEN", ADMIN_TOKEN),
            ];
            let program = Program::start_in(folder, &model.base_url, &settings);
            let after = collector.wait_for(|span| span.attribute("ai_chat_mcp.turn.status") == "done").await;
            assert_eq!(after.attribute("ai_chat_mcp.turn.id"), before.attribute("ai_chat_mcp.turn.id"));
            let metrics = http_client().get(format!("http://{address}/metrics")).bearer_auth(ADMIN_TOKEN);
            let metrics = metrics.send().await.unwrap().text().await.unwrap();
            let origin = mcp.url.split("/mcp").next().unwrap();
            let outcome = if is_forgotten { "unknown" } else { "done" };
            let counter = format!("ai_chat_mcp_tool_calls_total{{server=\"{origin}\",outcome=\"{outcome}\"}} 1");
            assert!(metrics.lines().any(|line| line == counter), "{metrics}");
            drop(program.stop());
            let spans = collector.spans();
            let calls = |turn: &ReceivedSpan| -> Vec<ReceivedSpan> {
                let of_turn = |span: &&ReceivedSpan| span.trace_id == turn.trace_id && span.name.starts_with("execute");
                spans.iter().filter(of_turn).cloned().collect()
            };
            let ([first], [resumed]) = (&calls(&before)[..], &calls(&after)[..]) else { panic!("{spans:#?}") };
            assert_eq!((resumed.name.as_str(), &resumed.parent_id), ("execute_tool find", &after.span_id));
            let names = [
                "gen_ai.operation.name",
                "gen_ai.tool.name",
                "mcp.method.name",
                "server.address",
                "server.port",
                "gen_ai.tool.call.arguments",
            ];
            for name in names {
                assert_eq!(resumed.attribute(name), first.attribute(name), "{name}");
            }
            assert_eq!(resumed.attribute("gen_ai.tool.name"), "find");
            assert_eq!(resumed.kind, "Client");
            assert_eq!((resumed.attribute("error.type"), resumed.is_error), (error_type, is_forgotten));
            assert_eq!(mcp.calls().len(), 1, "the call is not made again");
            for private in [QUESTION, ARGUMENT, "task-1", "status-of-the-task", QUERY, &person.email, "notes"] {
                assert!(!collector.has_received(private), "{private} is in a span");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn dead_collector_costs_one_warning() {
    let endpoint = format!("http://{}", free_address());
    let settings = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str()),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "100"),
        ("RUST_LOG", "platform=warn"),
    ];
    let setup = Setup::start(&settings, None, TempDir::new().unwrap()).await;
    setup.ask().await;
    // Long enough for several batches to fail.
    let warnings = || setup.log().matches("traces could not be exported").count();
    let begun = Instant::now();
    while warnings() == 0 {
        assert!(begun.elapsed() < Duration::from_secs(30), "no warning: {}", setup.log());
        setup.person.get("/api/sessions/marks").await;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    for _ in 0..20 {
        setup.person.get("/api/sessions/marks").await;
        tokio::time::sleep(Duration::from_millis(60)).await;
    }
    assert_eq!(warnings(), 1, "{}", setup.log());
    let stopping = Instant::now();
    setup.program.stop();
    assert!(stopping.elapsed() < Duration::from_secs(10), "{:?}", stopping.elapsed());
}

#[test]
fn check_lists_settings_and_rejects_grpc() {
    let folder = TempDir::new().unwrap();
    let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://user:hidden@collector:4318");
    let key = ("OTEL_EXPORTER_OTLP_HEADERS", "api-key=hidden");
    let (code, output, _) = run(folder.path(), &[endpoint, key], &["check"]);
    assert_eq!(code, 0, "{output}");
    let line = |name: &str| output.lines().find(|line| line.starts_with(&format!("{name} "))).unwrap().to_owned();
    assert!(line("OTEL_EXPORTER_OTLP_ENDPOINT").contains("http://user:***@collector:4318"), "{output}");
    assert!(line("OTEL_EXPORTER_OTLP_HEADERS").contains("environment") && !output.contains("hidden"), "{output}");
    assert!(line("OTEL_SERVICE_NAME").contains("ai-chat-mcp"), "{output}");
    let grpc = [endpoint, ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")];
    for command in ["check", "serve"] {
        let (code, output, error) = run(folder.path(), &grpc, &[command]);
        assert_eq!(code, 1);
        let both = format!("{output}{error}");
        assert!(both.contains("OTEL_EXPORTER_OTLP_PROTOCOL is invalid: this server does not speak gRPC"), "{both}");
    }
}
