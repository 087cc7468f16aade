//! Servers of other makers that ask the person, and that want them to sign in.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use domain::clock::SystemClock;
use domain::{ServerId, UserId};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use mcp::net::{GuardedHttp, NetworkPolicy};
use mcp::oauth::{ClientMetadata, CredentialOwner, OAuthClient, SignInCallback, SignInRequest};
use mcp::{
    CallOptions, Client, Connection, ConnectionLimits, ConnectionTarget, Elicitation, ElicitationHandler,
    ElicitationResponse, Error, FieldKind, FormContent, SuspendedCall, Task, TaskProtocol,
};
use serde_json::{Map, Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::memory::Memory;
use crate::peer::Peer;

fn guard() -> GuardedHttp {
    GuardedHttp::new(NetworkPolicy::new(&[], true, vec![])).unwrap()
}

async fn connect(target: ConnectionTarget) -> Result<Connection, Error> {
    // A busy machine starts these servers' sessions slowly.
    let limits = ConnectionLimits { connect_timeout: Duration::from_mins(1), ..ConnectionLimits::default() };
    let client = Client::new(guard()).with_limits(limits).with_elicitation();
    client.connect(target, &CancellationToken::new()).await
}

/// Fills in what has no default, consents to visits, and keeps the questions.
#[derive(Debug, Default)]
struct Person(Mutex<Vec<Elicitation>>);

impl ElicitationHandler for Person {
    fn elicit(&self, question: Elicitation, _: Option<Arc<SuspendedCall>>) -> BoxFuture<'_, ElicitationResponse> {
        let answer = match &question {
            Elicitation::Form(form) => {
                let known =
                    json!({ "name": "Ada", "check": true, "email": "ada@example.com", "birthdate": "1815-12-10" });
                form.fill(known.as_object().unwrap().clone())
                    .map_or(ElicitationResponse::Decline, ElicitationResponse::Accept)
            }
            Elicitation::Url(_) => ElicitationResponse::Accept(FormContent::default()),
        };
        self.0.lock().unwrap().push(question);
        std::future::ready(answer).boxed()
    }
}

#[tokio::test]
async fn everything_asks_in_forms_and_in_visits() {
    let peer = Peer::start("mcp-server-everything", &["streamableHttp"], &[("PORT", "{port}")]);
    let url = format!("http://127.0.0.1:{}/mcp", peer.port).parse().unwrap();
    let connection = connect(ConnectionTarget::new(url)).await.unwrap();
    let person = Arc::new(Person::default());
    let call = async |name: &str, arguments: Value| {
        let options = CallOptions { elicitation_handler: Some(person.clone()), ..CallOptions::default() };
        let arguments = arguments.as_object().unwrap().clone();
        connection.call_tool(name, arguments, options).await.unwrap().to_model_text()
    };

    let said = call("trigger-elicitation-request", json!({})).await;
    for value in ["Ada", "ada@example.com", "1815-12-10", "It was a dark and stormy night.", "Guitar", "hero-1"] {
        assert!(said.contains(value), "{value}: {said}");
    }
    {
        let asked = person.0.lock().unwrap();
        let Elicitation::Form(form) = &asked[0] else { panic!("{asked:?}") };
        let kind = |name: &str| &form.fields.iter().find(|field| field.name == name).unwrap().kind;
        assert!(matches!(kind("integer"), FieldKind::Number { integer: true, .. }));
        assert!(matches!(kind("homepage"), FieldKind::Text { format: Some(format), .. } if format == "uri"));
        let titled = |options: &[mcp::FieldOption]| options[0].title != options[0].value;
        assert!(matches!(kind("titledSingleSelectEnum"), FieldKind::One { options } if titled(options)));
        assert!(
            matches!(kind("titledMultipleSelectEnum"), FieldKind::Many { options, max_items: Some(3), .. } if titled(options))
        );
    }

    let visit = json!({ "url": "https://pay.example/1", "message": "Pay", "errorPath": true });
    assert!(call("trigger-url-elicitation", visit).await.contains("completed the URL elicitation flow"));
    let asked = person.0.lock().unwrap();
    let [Elicitation::Url(before), Elicitation::Url(then)] = &asked[1..] else { panic!("{asked:?}") };
    assert!(before.retries_call && !then.retries_call);
    assert_eq!(then.url.as_str(), "https://pay.example/1");
}

#[tokio::test]
async fn everything_works_on_a_task_and_asks_in_the_middle_of_it() {
    let peer = Peer::start("mcp-server-everything", &["streamableHttp"], &[("PORT", "{port}")]);
    let url: Url = format!("http://127.0.0.1:{}/mcp", peer.port).parse().unwrap();
    let connection = connect(ConnectionTarget::new(url)).await.unwrap();
    connection.list_tools().await.unwrap();
    let arguments = |ambiguous: bool| json!({ "topic": "python", "ambiguous": ambiguous }).as_object().unwrap().clone();

    // Somebody who only comes for the result gets it.
    let (sender, mut task) = watch::channel(None);
    let options = CallOptions { on_task: Some(sender), ..CallOptions::default() };
    let begun = {
        let call = connection.call_tool("simulate-research-query", arguments(false), options);
        tokio::select! {
            ended = call => panic!("it ended: {ended:?}"),
            _ = task.changed() => task.borrow().clone().unwrap(),
        }
    };
    assert_eq!((begun.protocol, begun.ttl), (TaskProtocol::Core, Some(Duration::from_mins(5))));
    let known = Task::from_stored(begun.id, begun.protocol, begun.ttl);
    let result = connection.resume_task(known, Duration::from_secs(1), CallOptions::default()).await.unwrap();
    assert!(result.to_model_text().contains("# Research Report: python"));

    let person = Arc::new(Person::default());
    let (sender, mut task) = watch::channel(None::<Task>);
    let options =
        CallOptions { elicitation_handler: Some(person.clone()), on_task: Some(sender), ..CallOptions::default() };
    let messages = async {
        let mut messages = Vec::new();
        while task.changed().await.is_ok() {
            messages.extend(task.borrow_and_update().as_ref().and_then(|task| task.message.clone()));
        }
        messages.join("\n")
    };
    let call = async { connection.call_tool("simulate-research-query", arguments(true), options).await };
    let (result, messages) = tokio::join!(call, messages);
    let report = result.unwrap().to_model_text();
    assert!(report.contains("User declined") || report.contains("python ("), "{report}");
    assert_eq!(person.0.lock().unwrap().len(), 1);
    assert!(messages.contains("Gathering sources") && messages.contains("Requesting clarification"), "{messages}");

    let unknown = Task::from_stored("nobody's".to_owned(), TaskProtocol::Core, None);
    let gone = connection.resume_task(unknown, Duration::ZERO, CallOptions::default()).await.unwrap_err();
    assert_eq!(gone.to_string(), "no longer knows the task");
}

#[tokio::test]
async fn a_server_with_an_authorization_server_beside_it() {
    let peer = Peer::start(
        "../@modelcontextprotocol/sdk/dist/esm/examples/server/simpleStreamableHttp.js",
        &["--oauth", "--oauth-strict"],
        &[("MCP_PORT", "{port}"), ("MCP_AUTH_PORT", "{other}")],
    );
    let url: Url = format!("http://localhost:{}/mcp", peer.port).parse().unwrap();
    let redirect_uri = "http://localhost:3000/callback".parse().unwrap();
    let app = ClientMetadata { name: "Chat".to_owned(), redirect_uri, metadata_url: None };
    let oauth = OAuthClient::new(guard(), app, Arc::new(Memory::default()), Arc::new(SystemClock));
    let owner = CredentialOwner { user: UserId::fresh(), server: ServerId::fresh() };
    let target = || ConnectionTarget::new(url.clone()).with_token_source(oauth.token_source(owner, url.clone()));

    let refused = connect(target()).await.unwrap_err();
    let wish = SignInRequest { owner, url: url.clone(), challenge: refused.challenge().cloned(), client: None };
    let started = oauth.start_sign_in(wish).await.unwrap();
    let page = guard().client_for(&started.url).unwrap().get(started.url.clone()).send().await.unwrap();
    let back: Url = page.headers()["location"].to_str().unwrap().parse().unwrap();
    let query: Map<String, Value> = back.query_pairs().map(|(key, value)| (key.into(), value.into())).collect();
    let answer: SignInCallback = serde_json::from_value(query.into()).unwrap();
    oauth.complete_sign_in(owner, started.pending, answer).await.unwrap();

    let connection = connect(target()).await.unwrap();
    let arguments = Map::from_iter([("name".to_owned(), "Ada".into())]);
    let greeted = connection.call_tool("greet", arguments, CallOptions::default()).await.unwrap();
    assert!(greeted.to_model_text().contains("Ada"));

    // The next request has no token any more.
    oauth.sign_out(owner).await.unwrap();
    let refused = connection.call_tool("greet", Map::new(), CallOptions::default()).await.unwrap_err();
    assert!(refused.challenge().is_some(), "{refused}");
}
