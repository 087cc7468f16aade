//! Providers, networks and people who lie.

use serde_json::{Value, json};
use testkit::{Database, databases};
use url::Url;

use super::browser::{Browser, Site};
use super::provider::Signature;

#[tokio::test]
async fn rejects_forged_id_tokens() {
    let site = Site::start(Database::of_environment()).await;
    let now = site.app.state.clock.now().as_seconds();
    let forged = [
        (Signature::None, json!({})),
        (Signature::PublicKeyAsSecret, json!({})),
        (Signature::ClientSecret, json!({})),
        (Signature::ForeignKey, json!({})),
        (Signature::Own, json!({ "iss": "https://evil.example" })),
        (Signature::Own, json!({ "aud": "another-client" })),
        (Signature::Own, json!({ "aud": ["chat", "another-client"] })),
        (Signature::Own, json!({ "azp": "another-client" })),
        (Signature::Own, json!({ "exp": now - 61 })),
        (Signature::Own, json!({ "exp": null })),
        (Signature::Own, json!({ "iat": now + 120 })),
        (Signature::Own, json!({ "nonce": "that of another sign-in" })),
        (Signature::Own, json!({ "nonce": null })),
        (Signature::Own, json!({ "at_hash": "AAAAAAAAAAAAAAAAAAAAAA" })),
        (Signature::Own, json!({ "sub": null })),
    ];
    for (signature, claims) in forged {
        let at = format!("{signature:?} {claims}");
        {
            let mut script = site.provider.script();
            (script.signature, script.claims) = (signature, claims);
        }
        assert_eq!(site.refusal().await, "unexpected_failure", "{at}");
    }
    assert_eq!(site.failed_sign_ins().await, 15);
    assert_eq!(site.app.state.storage.users().count().await.unwrap(), 0);
    // The same provider without a lie.
    {
        let mut script = site.provider.script();
        (script.signature, script.claims) = (Signature::Own, json!({ "aud": ["chat", "api"], "azp": "chat" }));
    }
    assert_eq!(site.sign_in().await.status, 200);
    site.app.stop().await;
}

#[tokio::test]
async fn accepts_only_algorithms_that_the_provider_announces() {
    let site = Site::start(Database::Sqlite).await;
    site.provider.script().metadata = json!({ "id_token_signing_alg_values_supported": ["RS256"] });
    assert_eq!(site.refusal().await, "unexpected_failure", "it signs with ES256");
    site.app.stop().await;
}

#[tokio::test]
async fn state_is_valid_once_for_ten_minutes_and_in_its_browser() {
    for database in databases() {
        let site = Site::start(database).await;
        let mut browser = Browser::new(&site);
        let page = browser.begin("").await;
        let callback = browser.consent(&page).await;
        let first = browser.arrive(&callback).await;
        assert!(first.query.contains_key("code"));
        let replayed = browser.arrive(&callback).await;
        assert_eq!(replayed.query["error_code"], "bad_oauth_state");
        assert_eq!(site.failed_sign_ins().await, 1);
        assert_eq!(site.provider.script().exchanges, 1, "the code of a replayed redirect is not sent");

        // An attacker's own sign-in, completed in the browser of another user.
        for cookie in [None, Some("A".repeat(43))] {
            let mut attacker = Browser::new(&site);
            let page = attacker.begin("").await;
            let callback = attacker.consent(&page).await;
            let mut victim = Browser::new(&site);
            victim.cookie = cookie;
            let end = victim.arrive(&callback).await;
            assert_eq!(end.query["error_code"], "bad_oauth_state");
            assert_eq!(attacker.arrive(&callback).await.query["error_code"], "bad_oauth_state", "it is spent");
        }

        // Two sign-ins in the same browser do not disturb each other.
        let (one, two) = (browser.begin("").await, browser.begin("").await);
        for page in [one, two] {
            let callback = browser.consent(&page).await;
            assert!(browser.arrive(&callback).await.query.contains_key("code"));
        }

        let page = browser.begin("").await;
        let callback = browser.consent(&page).await;
        site.advance(601);
        assert_eq!(browser.arrive(&callback).await.query["error_code"], "bad_oauth_state");
        site.app.stop().await;
    }
}

#[tokio::test]
async fn rejects_redirects_of_another_issuer() {
    let site = Site::start(Database::Sqlite).await;
    for iss in [Some("https://evil.example".to_owned()), None] {
        site.provider.script().iss = iss;
        assert_eq!(site.refusal().await, "bad_oauth_callback");
    }
    assert_eq!(site.provider.script().exchanges, 0, "the other provider's code is not sent");
    assert_eq!(site.failed_sign_ins().await, 2);
    site.app.stop().await;
}

#[tokio::test]
async fn a_provider_need_not_name_itself_in_redirects() {
    let site = Site::start(Database::Sqlite).await;
    {
        let mut script = site.provider.script();
        script.metadata = json!({
            "authorization_response_iss_parameter_supported": null,
            "token_endpoint_auth_methods_supported": ["client_secret_post"],
        });
        script.iss = None;
    }
    assert_eq!(site.sign_in().await.status, 200, "and gets the client secret in the way it supports");
    site.app.stop().await;
}

#[tokio::test]
async fn rejects_metadata_that_leads_elsewhere() {
    for metadata in [
        json!({ "issuer": "https://evil.example" }),
        json!({ "token_endpoint": "http://id.example.com/token" }),
        json!({ "jwks_uri": "ftp://id.example.com/keys" }),
        json!({ "authorization_endpoint": "javascript:alert(1)" }),
        json!({ "end_session_endpoint": "http://id.example.com/logout" }),
    ] {
        let site = Site::start(Database::Sqlite).await;
        site.provider.script().metadata = metadata.clone();
        let end = Url::parse(&Browser::new(&site).begin("").await).unwrap();
        assert!(end.as_str().contains("error_code=unexpected_failure"), "{metadata}: {end}");
        site.app.stop().await;
    }
}

#[tokio::test]
async fn follows_a_new_key_and_asks_for_it_seldom() {
    let site = Site::start(Database::Sqlite).await;
    assert_eq!(site.sign_in().await.status, 200);
    assert_eq!(site.provider.script().key_requests, 1);
    site.provider.script().rotate_key();
    assert_eq!(site.refusal().await, "unexpected_failure", "asked for again only after half a minute");
    site.advance(31);
    assert_eq!(site.sign_in().await.status, 200);
    site.provider.script().signature = Signature::ForeignKey;
    for _ in 0..3 {
        assert_eq!(site.refusal().await, "unexpected_failure");
    }
    assert_eq!(site.provider.script().key_requests, 2);
    site.app.stop().await;
}

#[tokio::test]
async fn asks_for_user_information_only_where_the_address_is_missing() {
    let site = Site::start(Database::Sqlite).await;
    let without_address = json!({ "email": null, "email_verified": null });
    let info = |sub: &str| json!({ "sub": sub, "email": "ann@example.com", "email_verified": true });
    for (user_info, expected) in
        [(info("eve-1"), "unexpected_failure"), (json!({ "sub": "ann-1" }), "email_address_not_provided")]
    {
        {
            let mut script = site.provider.script();
            (script.claims, script.user_info) = (without_address.clone(), user_info);
        }
        assert_eq!(site.refusal().await, expected);
    }
    site.provider.script().user_info = info("ann-1");
    assert_eq!(site.sign_in().await.text("/user/email"), "ann@example.com");
    {
        let mut script = site.provider.script();
        (script.claims, script.user_info) = (json!({ "sub": "bob-1", "email": "bob@example.com" }), Value::Null);
    }
    assert_eq!(site.sign_in().await.text("/user/email"), "bob@example.com");
    site.app.stop().await;
}
