//! Parts of the auth protocol that this server does not support.

use reqwest::Method;
use serde_json::json;
use testkit::TestApp;

use super::caller::{post, refused, request, send};

#[tokio::test]
async fn what_is_switched_off_says_so_to_everybody() {
    let app = TestApp::start().await;
    let oauth = (404, "feature_disabled", "OAuth server is disabled");
    let saml = (404, "saml_provider_disabled", "SAML 2.0 is disabled");
    let provider = |message| (400, "validation_failed", message);
    let table = [
        (Method::POST, "/sso", saml),
        (Method::GET, "/sso/saml/metadata", saml),
        (Method::POST, "/sso/saml/acs", saml),
        (Method::GET, "/authorize?provider=google", provider("Unsupported provider: provider is not enabled")),
        (Method::GET, "/authorize?provider=GitHub", provider("Unsupported provider: provider is not enabled")),
        (Method::GET, "/authorize?provider=acme", provider("Unsupported provider: Provider acme could not be found")),
        (Method::GET, "/authorize", provider("Unsupported provider: Provider  could not be found")),
        (
            Method::GET,
            "/authorize?provider=custom:a",
            provider("Unsupported provider: custom OAuth providers are disabled"),
        ),
        (Method::GET, "/oauth/authorizations/1", oauth),
        (Method::POST, "/oauth/authorizations/1/consent", oauth),
    ];
    for (method, path, (status, code, message)) in table {
        let answer = send(request(&app, method.clone(), path)).await;
        assert_eq!(answer.refusal(), refused(status, code), "{method} {path}");
        assert_eq!(answer.text("/message"), message, "{method} {path}");
    }
}

#[tokio::test]
async fn what_needs_a_person_first_asks_for_one() {
    let app = TestApp::start().await;
    let person = app.person().await;
    let linking = (404, "manual_linking_disabled");
    let oauth = (404, "feature_disabled");
    let table = [
        (Method::GET, "/user/identities/authorize?provider=google", linking),
        (Method::DELETE, "/user/identities/00000000-0000-0000-0000-000000000000", linking),
        (Method::GET, "/user/oauth/grants", oauth),
        (Method::DELETE, "/user/oauth/grants?client_id=1", oauth),
    ];
    for (method, path, (status, code)) in table {
        let stranger = send(request(&app, method.clone(), path)).await;
        assert_eq!(stranger.refusal(), refused(401, "no_authorization"), "{method} {path}");
        let answer = send(request(&app, method.clone(), path).bearer_auth(&person.token)).await;
        assert_eq!(answer.refusal(), refused(status, code), "{method} {path}");
    }
}

#[tokio::test]
async fn tokens_of_other_providers_sign_nobody_in() {
    let app = TestApp::start().await;
    let off = |issuer: &str| (400, "provider_disabled", format!("Provider (issuer \"{issuer}\") is not enabled"));
    let invalid = |message: &str| (400, "validation_failed", message.to_owned());
    let table = [
        (json!({}), invalid("id_token required")),
        (json!({ "id_token": "x" }), invalid("provider or client_id and issuer required")),
        (json!({ "id_token": "x", "provider": "google" }), off("https://accounts.google.com")),
        (
            json!({ "id_token": "x", "client_id": "a", "issuer": "https://accounts.google.com" }),
            off("https://accounts.google.com"),
        ),
        (
            json!({ "id_token": "x", "provider": "apple" }),
            invalid("Unable to detect issuer in ID token for Apple provider"),
        ),
        (
            json!({ "id_token": "x", "provider": "azure" }),
            invalid("Unable to detect issuer in ID token for Azure provider"),
        ),
        (json!({ "id_token": "x", "provider": "custom:a" }), invalid("Custom OAuth providers are disabled")),
        (json!({ "id_token": "x", "provider": "acme" }), invalid("Custom OIDC provider \"acme\" not allowed")),
    ];
    for (body, (status, code, message)) in table {
        let answer = post(&app, "/token?grant_type=id_token", &body).await;
        assert_eq!(answer.refusal(), refused(status, code), "{body}");
        assert_eq!(answer.text("/message"), message, "{body}");
    }
    let web3 = post(&app, "/token?grant_type=web3", &json!({ "chain": "solana" })).await;
    assert_eq!(web3.refusal(), refused(422, "web3_provider_disabled"));
    assert_eq!(web3.text("/message"), "Web3 provider is disabled");
}
