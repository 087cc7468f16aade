//! From the first refusal to the sign-out.

use std::sync::Mutex;

use mcp::oauth::{CredentialOwner, PendingSignIn, SignInCallback, SignInError};
use mcp::{CallOptions, ConnectionTarget, Error};
use serde_json::{Map, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{Person, consent, good, metadata, parameter, refuse, wants};
use crate::http::{Reply, Server, event};

#[tokio::test]
async fn a_person_signs_in_and_every_request_has_the_token() {
    let person = Person::with(|_| None).await;
    let refused = person.connect().await.unwrap_err();
    assert!(matches!(refused, Error::Unauthorized { .. }), "without a word about where to sign in: {refused}");

    let started = person.start(refused.challenge().cloned()).await.unwrap();
    assert_eq!(parameter(&started, "resource").unwrap(), person.url().as_str());
    assert_eq!(parameter(&started, "redirect_uri").unwrap(), "https://chat.example/callback");
    assert_eq!(parameter(&started, "code_challenge_method").unwrap(), "S256");
    assert_eq!(parameter(&started, "scope"), None);
    // What waits for the person is kept as text, and shows nothing of it in a log.
    let kept = serde_json::to_string(&started.pending).unwrap();
    assert!(!format!("{:?}", started.pending).contains(&started.state));
    let pending: PendingSignIn = serde_json::from_str(&kept).unwrap();
    assert_eq!(pending.owner(), person.owner);
    person.oauth.complete_sign_in(person.owner, pending, consent(&started)).await.unwrap();

    let connection = person.connect().await.unwrap();
    connection.list_tools().await.unwrap();
    connection.call_tool("work", Map::new(), CallOptions::default()).await.unwrap();
    let with_token =
        person.asked("/mcp").iter().filter(|seen| seen.header("authorization") == Some("Bearer a-1")).count();
    assert_eq!(with_token, 3);

    let [exchange] = &person.asked("/token")[..] else { panic!("one exchange") };
    let field = |name: &str| exchange.field(name).unwrap();
    assert_eq!(
        (field("code"), field("client_id"), field("resource")),
        ("code".into(), "c-1".into(), person.url().to_string())
    );
    let verifier = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, field("code_verifier").as_bytes());
    let challenge = parameter(&started, "code_challenge").unwrap();
    assert_eq!(base64::Engine::encode(&base64::prelude::BASE64_URL_SAFE_NO_PAD, verifier), challenge);
    let registration = &person.asked("/register")[0].body;
    assert_eq!(registration["application_type"], "web");
    assert_eq!(registration["grant_types"], json!(["authorization_code", "refresh_token"]));
}

#[tokio::test]
async fn an_answer_counts_once_it_is_known_whose_it_is() {
    let person = Person::with(|seen| {
        (seen.path == super::AUTHORITY).then(|| {
            let mut metadata = metadata(seen);
            metadata["authorization_response_iss_parameter_supported"] = true.into();
            Reply::json(200, metadata)
        })
    })
    .await;
    let started = person.start(None).await.unwrap();
    let issuer = Some(started.pending.issuer().to_owned());
    let good = || SignInCallback { iss: issuer.clone(), ..consent(&started) };
    let try_with = async |owner: CredentialOwner, answer: SignInCallback| {
        person.oauth.complete_sign_in(owner, started.pending.clone(), answer).await.unwrap_err()
    };
    let other = CredentialOwner { user: domain::UserId::fresh(), ..person.owner };
    assert!(matches!(try_with(other, good()).await, SignInError::State), "another person's session");
    let forged = SignInCallback { state: "guessed".to_owned(), ..good() };
    assert!(matches!(try_with(person.owner, forged).await, SignInError::State));
    for iss in [None, Some("https://evil.example".to_owned()), issuer.as_ref().map(|issuer| format!("{issuer}/"))] {
        let mixed_up = SignInCallback { iss, ..good() };
        assert!(matches!(try_with(person.owner, mixed_up).await, SignInError::Issuer));
    }
    let words = "Click https://evil.example";
    let error = SignInCallback {
        error: Some(words.to_owned()),
        code: None,
        iss: Some("https://evil.example".to_owned()),
        ..good()
    };
    let refused = try_with(person.owner, error.clone()).await;
    assert!(!refused.to_string().contains(words), "words of somebody else are not shown");
    let denied =
        SignInCallback { error: Some("access_denied".to_owned()), ..SignInCallback { iss: issuer.clone(), ..error } };
    assert_eq!(try_with(person.owner, denied).await.to_string(), "authorization was denied (access_denied)");
    person.clock.turn(11 * 60);
    assert!(matches!(try_with(person.owner, good()).await, SignInError::Expired));
    person.clock.turn(-60 * 2);
    assert!(person.asked("/token").is_empty(), "no code was given away");
    person.oauth.complete_sign_in(person.owner, started.pending.clone(), good()).await.unwrap();
}

#[tokio::test]
async fn a_token_goes_to_no_other_server() {
    let person = Person::with(|_| None).await;
    person.sign_in(None).await.unwrap();
    let other = Server::start(good).await;
    // The address of the connection was changed: what was given for the old one stays there.
    let session = person.oauth.token_source(person.owner, other.url("/mcp"));
    let target = ConnectionTarget::new(other.url("/mcp")).with_token_source(session);
    let refused = super::client().connect(target, &CancellationToken::new()).await.unwrap_err();
    assert!(matches!(refused, Error::Unauthorized { .. }));
    // The session is of one server and the address of another.
    let session = person.oauth.token_source(person.owner, person.url());
    let target = ConnectionTarget::new(other.url("/mcp")).with_token_source(session);
    super::client().connect(target, &CancellationToken::new()).await.unwrap_err();
    assert!(other.seen().iter().all(|seen| seen.header("authorization").is_none()));

    // A redirect to another server is not followed, least of all with a token.
    let to = other.url("/mcp").to_string();
    let away = Person::with(move |seen| {
        (seen.path == "/mcp" && seen.header("authorization").is_some())
            .then(|| Reply::status(307).with("location", to.clone()))
    })
    .await;
    away.sign_in(None).await.unwrap();
    assert!(matches!(away.connect().await, Err(Error::Redirected(_))));
    assert!(other.seen().iter().all(|seen| seen.header("authorization").is_none()));
}

#[tokio::test]
async fn the_oldest_transport_carries_the_token_too() {
    let (sender, receiver) = mpsc::channel(4);
    let receiver = Mutex::new(Some(receiver));
    let person = Person::with(move |seen| {
        let answer = match (seen.method.as_str(), seen.path.as_str()) {
            (_, "/mcp" | "/messages") if seen.header("authorization") != Some("Bearer a-1") => Reply::status(401),
            ("POST", "/mcp") => Reply::status(405),
            ("GET", "/mcp") => {
                sender.try_send(b"event: endpoint\ndata: /messages\n\n".to_vec()).unwrap();
                Reply::Events(receiver.lock().unwrap().take().unwrap())
            }
            ("POST", "/messages") => {
                let result = json!({ "protocolVersion": "2024-11-05", "capabilities": {},
                    "serverInfo": { "name": "first", "version": "0" } });
                if seen.rpc() == "initialize" {
                    let answer = json!({ "jsonrpc": "2.0", "id": seen.body["id"], "result": result });
                    sender.try_send(event(&answer)).unwrap();
                }
                Reply::status(202)
            }
            _ => return None,
        };
        Some(answer)
    })
    .await;
    assert!(matches!(person.connect().await, Err(Error::Unauthorized { .. })));
    person.sign_in(None).await.unwrap();
    assert_eq!(person.connect().await.unwrap().info().transport, mcp::TransportKind::Sse);
    assert_eq!(person.asked("/messages").len(), 2);
}

#[tokio::test]
async fn a_header_of_the_persons_own_wins() {
    let person = Person::with(|_| None).await;
    person.sign_in(None).await.unwrap();
    let target = ConnectionTarget::new(person.url()).with_header("Authorization", "Bearer a-key").unwrap();
    let target = target.with_token_source(person.oauth.token_source(person.owner, person.url()));
    super::client().connect(target, &CancellationToken::new()).await.unwrap();
    assert_eq!(person.asked("/mcp").last().unwrap().header("authorization"), Some("Bearer a-key"));
}

#[tokio::test]
async fn more_rights_are_asked_for_on_top_and_not_without_end() {
    let person = Person::with(|seen| {
        (seen.rpc() == "tools/call")
            .then(|| Reply::status(403).with("www-authenticate", r#"Bearer error="insufficient_scope", scope="write""#))
    })
    .await;
    person.sign_in(Some(wants("read"))).await.unwrap();
    let connection = person.connect().await.unwrap();
    let refused = connection.call_tool("work", Map::new(), CallOptions::default()).await.unwrap_err();
    let challenge = refused.challenge().unwrap();
    assert_eq!(refused.outcome(), domain::tool::Outcome::Error, "the tool did not run");

    let started = person.start(Some(challenge.clone())).await.unwrap();
    assert_eq!(parameter(&started, "scope").unwrap(), "read write");
    person.oauth.complete_sign_in(person.owner, started.pending.clone(), consent(&started)).await.unwrap();
    // Granted, and still not enough: once more, and then never again.
    person.sign_in(Some(challenge.clone())).await.unwrap();
    assert!(matches!(person.start(Some(challenge.clone())).await, Err(SignInError::Repeated)));
    person.start(None).await.unwrap();
    person.clock.turn(11 * 60);
    person.start(Some(challenge.clone())).await.unwrap();
    assert_eq!(person.asked("/register").len(), 1, "the client is known by now");
}

#[tokio::test]
async fn signing_out_revokes_and_forgets_whatever_the_server_says() {
    for (status, confirmed) in [(200, true), (503, false)] {
        let person = Person::with(move |seen| (seen.path == "/revoke").then(|| Reply::status(status))).await;
        person.sign_in(None).await.unwrap();
        assert_eq!(person.oauth.sign_out(person.owner).await.unwrap(), confirmed);
        let [revoked] = &person.asked("/revoke")[..] else { panic!("one revocation") };
        assert_eq!(revoked.field("token").as_deref(), Some("r-1"), "which ends the access token with it");
        assert_eq!(person.token().await.unwrap(), None);
        assert!(person.oauth.sign_out(person.owner).await.unwrap(), "there is nothing left to revoke");
    }
}

#[tokio::test]
async fn a_client_that_is_not_known_any_more_is_registered_anew() {
    let person = Person::with(|seen| {
        let stale = seen.path == "/token" && seen.field("code").is_some_and(|code| code == "stale");
        stale.then(|| refuse("invalid_client"))
    })
    .await;
    person.sign_in(None).await.unwrap();
    let started = person.start(None).await.unwrap();
    let answer = SignInCallback { code: Some("stale".to_owned()), ..consent(&started) };
    let refused = person.oauth.complete_sign_in(person.owner, started.pending, answer).await.unwrap_err();
    assert_eq!(refused.to_string(), "the authorization server refused the request: without a reason (invalid_client)");
    person.sign_in(None).await.unwrap();
    assert_eq!(person.asked("/register").len(), 2);
}
