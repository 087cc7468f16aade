//! Client for the protocol's conformance suite.
//!
//! The suite starts a server and runs this program with its address. The program does what the product does with a
//! server that a user adds: it connects, signs in when the server requires it, lists the tools, and calls them. It
//! only replaces the user: it decides which tools are called with which arguments, answers elicitations, and follows
//! the sign-in page.

mod browser;
mod store;

use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;

use browser::Browser;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use mcp::net::{GuardedHttp, NetworkPolicy};
use mcp::oauth::{AuthChallenge, ClientKey, RegisteredClient, SecretString};
use mcp::{
    CallOptions, Client, Connection, ConnectionTarget, Elicitation, ElicitationHandler, ElicitationResponse,
    FormContent, SuspendedCall,
};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// A server that wants more sign-ins than this for one thing is left alone.
const SIGN_INS: usize = 5;

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
    let url: url::Url =
        std::env::args().nth(1).ok_or("usage: mcp-conformance-client <address of the server>")?.parse()?;
    // The suite's servers listen on loopback.
    let guard = GuardedHttp::new(NetworkPolicy::new(&[], true, vec![]))?;
    let browser = Browser::new(guard.clone(), url.clone(), registered_client())?;
    let client = Client::new(guard).with_elicitation();
    let connect = async || {
        let target = ConnectionTarget::new(url.clone()).with_token_source(browser.session());
        client.connect(target, &CancellationToken::new()).await
    };
    let connection = signed_in(&browser, mcp::Error::challenge, connect).await?;
    let outcome = use_tools(&connection, &browser).await;
    connection.close().await;
    outcome
}

/// Does something, and signs in whenever the server wants that first.
async fn signed_in<T, E: Error + 'static>(
    browser: &Browser,
    challenge: impl Fn(&E) -> Option<&AuthChallenge>,
    mut work: impl AsyncFnMut() -> Result<T, E>,
) -> Outcome<T> {
    let mut sign_ins = 0;
    loop {
        match work().await {
            Err(error) if sign_ins < SIGN_INS => match challenge(&error).cloned() {
                Some(challenge) => browser.sign_in(challenge).await?,
                None => return Err(error.into()),
            },
            done => return Ok(done?),
        }
        sign_ins += 1;
    }
}

/// Calls what the scenario says, or every tool there is.
async fn use_tools(connection: &Connection, browser: &Browser) -> Outcome<()> {
    let tools = signed_in(browser, mcp::Error::challenge, async || connection.list_tools().await).await?;
    let calls = match setting("MCP_CONFORMANCE_SCENARIO").as_deref() {
        Some("json-schema-ref-no-deref") => vec![],
        Some("json-schema-2020-12-preservation") => {
            let focal =
                tools.iter().find(|tool| tool.name == "json_schema_2020_12_tool").ok_or("the tool is missing")?;
            let arguments = Map::from_iter([("schema".to_owned(), focal.input_schema.clone())]);
            vec![Call { name: "json_schema_echo".to_owned(), arguments }]
        }
        _ => match context().remove("toolCalls") {
            Some(calls) => serde_json::from_value(calls)?,
            None => tools
                .iter()
                .map(|tool| Call { name: tool.name.clone(), arguments: arguments(&tool.input_schema) })
                .collect(),
        },
    };
    for Call { name, arguments } in calls {
        let call = async || {
            let options = CallOptions { elicitation_handler: Some(Arc::new(Person)), ..CallOptions::default() };
            connection.call_tool(&name, arguments.clone(), options).await
        };
        signed_in(browser, mcp::CallError::challenge, call).await?;
    }
    Ok(())
}

/// Returns the client that the scenario has registered manually, if any.
fn registered_client() -> Option<RegisteredClient> {
    let context = context();
    let text = |name: &str| context.get(name).and_then(Value::as_str);
    let key = match (text("private_key_pem"), text("client_secret")) {
        (Some(key), _) => ClientKey::PrivateKey(SecretString::new(key)),
        (None, Some(secret)) => ClientKey::Secret(SecretString::new(secret)),
        (None, None) => ClientKey::None,
    };
    Some(RegisteredClient { id: text("client_id")?.to_owned(), key })
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

impl ElicitationHandler for Person {
    fn elicit(&self, question: Elicitation, _: Option<Arc<SuspendedCall>>) -> BoxFuture<'_, ElicitationResponse> {
        let answer = match question {
            Elicitation::Form(form) => {
                form.fill(Map::new()).map_or(ElicitationResponse::Decline, ElicitationResponse::Accept)
            }
            Elicitation::Url(_) => ElicitationResponse::Accept(FormContent::default()),
        };
        std::future::ready(answer).boxed()
    }
}

/// Returns the input of the scenario.
fn context() -> Map<String, Value> {
    setting("MCP_CONFORMANCE_CONTEXT").and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
}

fn setting(name: &str) -> Option<String> {
    #[expect(clippy::disallowed_methods, reason = "the suite speaks to its clients this way")]
    std::env::var(name).ok()
}
