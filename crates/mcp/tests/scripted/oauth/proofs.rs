//! How the product proves to be the client that it says it is.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use mcp::oauth::{ClientKey, RegisteredClient, SecretString, SignInError, SignInRequest};
use serde_json::json;

use super::{AUTHORITY, Person, consent, metadata, refuse};
use crate::http::{Reply, Seen};

/// The description of a sign-in server that takes a secret at both places.
fn takes_both(seen: &Seen) -> Option<Reply> {
    (seen.path == AUTHORITY).then(|| {
        let mut metadata = metadata(seen);
        metadata["token_endpoint_auth_methods_supported"] = json!(["client_secret_post", "client_secret_basic"]);
        Reply::json(200, metadata)
    })
}

fn basic(seen: &Seen) -> bool {
    let expected = format!("Basic {}", BASE64_STANDARD.encode("c-1:geheim"));
    seen.header("authorization").is_some_and(|header| header == expected)
}

fn posts(seen: &Seen) -> bool {
    seen.field("client_secret").as_deref() == Some("geheim")
}

#[tokio::test]
async fn a_client_names_itself_in_the_form_wherever_its_secret_is() {
    for method in ["client_secret_post", "client_secret_basic"] {
        let person = Person::with(move |seen| match seen.path.as_str() {
            "/register" => {
                let asked = &seen.body["token_endpoint_auth_method"];
                assert_eq!(asked, "client_secret_post", "which every endpoint of every server takes");
                let given = json!({ "client_id": "c-1", "client_secret": "geheim",
                    "token_endpoint_auth_method": method });
                Some(Reply::json(201, given))
            }
            // As the official Python library does it.
            "/token" | "/revoke" if seen.field("client_id").is_none() => Some(refuse("invalid_client")),
            _ => takes_both(seen),
        })
        .await;
        person.sign_in(None).await.unwrap();
        assert!(person.oauth.sign_out(person.owner).await.unwrap());
        for path in ["/token", "/revoke"] {
            let [asked] = &person.asked(path)[..] else { panic!("asked once") };
            assert_eq!((basic(asked), posts(asked)), (method == "client_secret_basic", method == "client_secret_post"));
        }
    }
}

#[tokio::test]
async fn a_client_that_was_registered_by_hand_finds_out_where_its_secret_belongs() {
    for (here, trials) in [(basic as fn(&Seen) -> bool, 1), (posts, 2)] {
        let person = Person::with(move |seen| match seen.path.as_str() {
            "/token" if !here(seen) => Some(refuse("invalid_client")),
            _ => takes_both(seen),
        })
        .await;
        let key = ClientKey::Secret(SecretString::new("geheim"));
        let client = Some(RegisteredClient { id: "c-1".to_owned(), key });
        let wish = SignInRequest { owner: person.owner, url: person.url(), challenge: None, client };
        let started = person.oauth.start_sign_in(wish).await.unwrap();
        let answer = consent(&started);
        person.oauth.complete_sign_in(person.owner, started.pending, answer).await.unwrap();
        assert_eq!(person.grants().len(), trials);
        person.clock.turn(3590);
        assert_eq!(person.token().await.unwrap().as_deref(), Some("a-2"));
        assert_eq!(person.grants().len(), trials + 1, "it is known from then on");
    }
}

#[tokio::test]
async fn a_wrong_secret_is_tried_at_both_places_and_no_more() {
    let person = Person::with(|seen| match seen.path.as_str() {
        "/token" => Some(refuse("invalid_client")),
        _ => takes_both(seen),
    })
    .await;
    let key = ClientKey::Secret(SecretString::new("wrong"));
    let client = Some(RegisteredClient { id: "c-1".to_owned(), key });
    let wish = SignInRequest { owner: person.owner, url: person.url(), challenge: None, client };
    let started = person.oauth.start_sign_in(wish).await.unwrap();
    let answer = consent(&started);
    let refused = person.oauth.complete_sign_in(person.owner, started.pending, answer).await.unwrap_err();
    assert!(matches!(refused, SignInError::Refused { .. }));
    assert_eq!(person.asked("/token").len(), 2);
}
