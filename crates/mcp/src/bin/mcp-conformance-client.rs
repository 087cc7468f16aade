//! Puts the crate before the protocol's conformance suite.
//!
//! The suite starts a server and runs this program with its address. The program does what the product does with a
//! server that a person adds: connect, sign in when the server wants it, list the tools, call them. It stands in for
//! the person only: it says which tools are called with what, answers questions, and follows the sign-in page.

use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use mcp::net::{GuardedHttp, Policy};
use mcp::{Answer, Asker, CallOptions, Client, Connection, Content, Question, Target};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

type Outcome<T> = Result<T, Box<dyn Error>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Outcome<()> {
    let url = std::env::args().nth(1).ok_or("usage: mcp-conformance-client <address of the server>")?;
    let client = Client::new(GuardedHttp::new(Policy::new(&[], true, vec![]))?).with_questions();
    let connection = client.connect(Target::new(url.parse()?), &CancellationToken::new()).await?;
    let outcome = use_tools(&connection).await;
    connection.close().await;
    outcome
}

/// Calls what the scenario says, or every tool there is.
async fn use_tools(connection: &Connection) -> Outcome<()> {
    let tools = connection.list_tools().await?;
    let calls = match setting("MCP_CONFORMANCE_SCENARIO").as_deref() {
        Some("json-schema-ref-no-deref") => vec![],
        Some("json-schema-2020-12-preservation") => {
            let focal =
                tools.iter().find(|tool| tool.name == "json_schema_2020_12_tool").ok_or("the tool is missing")?;
            let arguments = Map::from_iter([("schema".to_owned(), focal.input_schema.clone())]);
            vec![("json_schema_echo".to_owned(), arguments)]
        }
        _ => match context().remove("toolCalls") {
            Some(calls) => serde_json::from_value::<Vec<Call>>(calls)?
                .into_iter()
                .map(|call| (call.name, call.arguments))
                .collect(),
            None => tools.iter().map(|tool| (tool.name.clone(), arguments(&tool.input_schema))).collect(),
        },
    };
    for (name, arguments) in calls {
        let options = CallOptions { asker: Some(Arc::new(Person)), ..CallOptions::default() };
        connection.call_tool(&name, arguments, options).await?;
    }
    Ok(())
}

#[derive(serde::Deserialize)]
struct Call {
    name: String,
    arguments: Map<String, Value>,
}

/// Something to fill a tool's required parameters with.
fn arguments(schema: &Value) -> Map<String, Value> {
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let value = |name: &str| match schema["properties"][name]["type"].as_str() {
        Some("number" | "integer") => Value::from(2),
        Some("boolean") => Value::from(true),
        Some("array") => Value::Array(vec![]),
        Some("object") => Value::Object(Map::new()),
        _ => Value::from("text"),
    };
    required.map(|name| (name.to_owned(), value(name))).collect()
}

/// Sends every form as it is, with its defaults, and consents to every visit.
#[derive(Debug)]
struct Person;

impl Asker for Person {
    fn ask(&self, question: Question) -> BoxFuture<'_, Answer> {
        let answer = match question {
            Question::Form(form) => form.fill(Map::new()).map_or(Answer::Decline, Answer::Accept),
            Question::Url(_) => Answer::Accept(Content::default()),
        };
        std::future::ready(answer).boxed()
    }
}

/// What the scenario gives to the client.
fn context() -> Map<String, Value> {
    setting("MCP_CONFORMANCE_CONTEXT").and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
}

fn setting(name: &str) -> Option<String> {
    #[expect(clippy::disallowed_methods, reason = "the suite speaks to its clients this way")]
    std::env::var(name).ok()
}
