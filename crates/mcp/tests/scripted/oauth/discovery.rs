//! Finding out where to sign in, among servers that are wrong, hostile or old.

use domain::network_allowlist::AllowlistEntry;
use mcp::net::{GuardedHttp, NetworkPolicy};
use mcp::oauth::{
    AuthChallenge, ClientKey, ClientMetadata, OAuthClient, RegisteredClient, SecretString, SignInError, SignInRequest,
};
use serde_json::{Value, json};
use std::sync::Arc;

use super::{AUTHORITY, Hands, Memory, Person, RESOURCE, metadata, parameter};
use crate::http::{Reply, Seen, Server};

/// Why nobody can sign in where the authorization server's description is changed like this.
async fn refused(change: fn(&mut Value, &Seen)) -> (SignInError, Person) {
    let person = Person::with(move |seen| {
        (seen.path == AUTHORITY).then(|| {
            let mut metadata = metadata(seen);
            change(&mut metadata, seen);
            Reply::json(200, metadata)
        })
    })
    .await;
    (person.start(None).await.unwrap_err(), person)
}

#[tokio::test]
async fn an_authorization_server_that_is_not_what_it_should_be_is_refused() {
    type Case = (fn(&mut Value, &Seen), fn(&SignInError) -> bool);
    let cases: [Case; 12] = [
        (|it, _| it["issuer"] = "https://evil.example".into(), |why| matches!(why, SignInError::Issuer)),
        (|it, seen| it["issuer"] = format!("{}/", seen.base()).into(), |why| matches!(why, SignInError::Issuer)),
        (|it, _| drop(it["code_challenge_methods_supported"].take()), |why| matches!(why, SignInError::Pkce)),
        (|it, _| it["code_challenge_methods_supported"] = json!(["plain"]), |why| matches!(why, SignInError::Pkce)),
        (|it, _| it["token_endpoint"] = "http://93.184.215.14/t".into(), |why| matches!(why, SignInError::Insecure)),
        (|it, _| it["authorization_endpoint"] = "http://a.example/".into(), |why| matches!(why, SignInError::Insecure)),
        (
            |it, _| it["authorization_endpoint"] = "javascript:alert(1)".into(),
            |why| matches!(why, SignInError::Insecure),
        ),
        (|it, _| it["registration_endpoint"] = "file:///etc/passwd".into(), |why| matches!(why, SignInError::Insecure)),
        (|it, _| drop(it["token_endpoint"].take()), |why| matches!(why, SignInError::Document(_))),
        (|it, _| drop(it["authorization_endpoint"].take()), |why| matches!(why, SignInError::Document(_))),
        (|it, _| drop(it["registration_endpoint"].take()), |why| matches!(why, SignInError::NeedsClient)),
        (|it, _| *it = json!([]), |why| matches!(why, SignInError::Document(_))),
    ];
    for (number, (change, is_expected)) in cases.into_iter().enumerate() {
        let (why, person) = refused(change).await;
        assert!(is_expected(&why), "{number}: {why}");
        assert!(person.asked("/register").is_empty(), "{number}: it was told nothing");
    }
}

#[tokio::test]
async fn a_server_that_describes_another_is_refused() {
    for resource in ["https://evil.example/mcp", "{base}/mcp/deeper", "{base}/mc", "mcp", ""] {
        let person = Person::with(move |seen| {
            let base = seen.base();
            let resource = resource.replace("{base}", &base);
            (seen.path == RESOURCE)
                .then(|| Reply::json(200, json!({ "resource": resource, "authorization_servers": [base] })))
        })
        .await;
        assert!(matches!(person.start(None).await, Err(SignInError::Resource)), "{resource}");
        assert!(person.asked(AUTHORITY).is_empty(), "{resource}");
    }
}

#[tokio::test]
async fn documents_have_an_end() {
    for path in [RESOURCE, AUTHORITY] {
        let person = Person::with(move |seen| {
            (seen.path == path).then(|| Reply::Endless("application/json", vec![b' '; 64 * 1024]))
        })
        .await;
        let why = person.start(None).await.unwrap_err();
        assert_eq!(why.to_string(), "the authorization server sent more than 262144 bytes", "{path}");
        let person = Person::with(move |seen| (seen.path == path).then(|| Reply::new(200, "text/html", "<h1>"))).await;
        assert!(matches!(person.start(None).await, Err(SignInError::Document("it is not JSON"))), "{path}");
    }
}

#[tokio::test]
async fn discovery_does_not_lead_into_the_network() {
    let inside = Server::start(super::good).await;
    let (named, led) = (inside.url("").to_string(), inside.url(AUTHORITY).to_string());
    let outside = Server::start(move |seen| match seen.path.as_str() {
        // A server that names an address inside as its authorization server,
        RESOURCE => Reply::json(
            200,
            json!({ "resource": format!("{}/mcp", seen.base()), "authorization_servers": [named.trim_end_matches('/')] }),
        ),
        // and one whose documents are redirects to it.
        "/.well-known/oauth-protected-resource/other" => Reply::json(
            200,
            json!({ "resource": format!("{}/other", seen.base()), "authorization_servers": [seen.base()] }),
        ),
        AUTHORITY => Reply::status(302).with("location", led.clone()),
        "/token" => Reply::status(307).with("location", led.clone()),
        _ => Reply::status(404),
    })
    .await;
    let allow: AllowlistEntry = format!("127.0.0.1:{}", outside.port).parse().unwrap();
    let guard = GuardedHttp::new(NetworkPolicy::new(&[allow], false, vec![])).unwrap();
    let redirect_uri = "https://chat.example/callback".parse().unwrap();
    let app = ClientMetadata { name: "Chat".to_owned(), redirect_uri, metadata_url: None };
    let oauth = OAuthClient::new(guard, app, Arc::new(Memory::default()), Arc::new(Hands::default()));
    let owner = mcp::oauth::CredentialOwner { user: domain::UserId::fresh(), server: domain::ServerId::fresh() };
    let wish = |path: &str, challenge| SignInRequest { owner, url: outside.url(path), challenge, client: None };

    let why = oauth.start_sign_in(wish("/mcp", None)).await.unwrap_err();
    assert!(why.to_string().contains("is a private address"), "{why}");
    let why = oauth.start_sign_in(wish("/other", None)).await.unwrap_err();
    assert!(matches!(why, SignInError::NotOffered), "{why}");
    let challenge =
        AuthChallenge { resource_metadata: Some(inside.url(RESOURCE).to_string()), ..AuthChallenge::default() };
    let why = oauth.start_sign_in(wish("/mcp", Some(challenge))).await.unwrap_err();
    assert!(why.to_string().contains("is a private address"), "{why}");
    assert!(inside.seen().is_empty());
}

#[tokio::test]
async fn a_code_and_a_secret_do_not_follow_a_redirect() {
    let thief = Server::start(super::good).await;
    let to = thief.url("/token").to_string();
    let person =
        Person::with(move |seen| (seen.path == "/token").then(|| Reply::status(307).with("location", to.clone())))
            .await;
    person.sign_in(None).await.unwrap_err();
    assert!(thief.seen().is_empty());
}

#[tokio::test]
async fn a_server_that_knows_no_sign_in_is_told_apart() {
    let person = Person::with(|seen| (seen.path != "/mcp").then(|| Reply::status(404))).await;
    assert!(matches!(person.start(None).await, Err(SignInError::NotOffered)));
    let places: Vec<_> = person.server.seen().into_iter().map(|seen| seen.path).collect();
    assert_eq!(
        places,
        [
            RESOURCE,
            "/.well-known/oauth-protected-resource",
            AUTHORITY,
            "/.well-known/openid-configuration",
            "/register"
        ]
    );
}

#[tokio::test]
async fn a_server_that_stays_silent_is_not_taken_for_an_old_one() {
    let person = Person::with(|seen| (seen.path == RESOURCE).then(|| Reply::status(500))).await;
    let why = person.start(None).await.unwrap_err();
    assert_eq!(why.to_string(), "the authorization server answered 500 Internal Server Error");
    assert!(person.asked(AUTHORITY).is_empty());
}

#[tokio::test]
async fn a_client_that_was_registered_by_hand_is_used_and_kept() {
    let person = Person::with(|seen| {
        (seen.path == AUTHORITY).then(|| {
            let mut metadata = metadata(seen);
            metadata["token_endpoint_auth_methods_supported"] = json!(["client_secret_post"]);
            Reply::json(200, metadata)
        })
    })
    .await;
    let client =
        Some(RegisteredClient { id: "by-hand".to_owned(), key: ClientKey::Secret(SecretString::new("s3cret")) });
    let wish = SignInRequest { owner: person.owner, url: person.url(), challenge: None, client };
    let started = person.oauth.start_sign_in(wish).await.unwrap();
    assert_eq!(parameter(&started, "client_id").as_deref(), Some("by-hand"));
    person.oauth.complete_sign_in(person.owner, started.pending.clone(), super::consent(&started)).await.unwrap();
    person.clock.turn(4000);
    assert_eq!(person.token().await.unwrap().as_deref(), Some("a-2"));
    for asked in person.asked("/token") {
        assert_eq!(asked.field("client_secret").as_deref(), Some("s3cret"));
    }
    assert!(person.asked("/register").is_empty());
}
