//! Sign-in at an identity provider.

mod accounts_of_users;
pub mod browser;
mod groups;
mod identity_link;
mod logout;
mod provider;
mod trust;

use reqwest::Method;
use serde_json::{Value, json};
use testkit::databases;
use url::Url;

use super::caller::{claims_of, get_user, refused, request, send};
use browser::{Browser, Site};

#[tokio::test]
async fn signs_in_with_pkce_and_creates_one_account() {
    for database in databases() {
        let site = Site::start(database).await;
        let settings = send(request(&site.app, Method::GET, "/settings")).await;
        assert_eq!(
            (&settings.body["external"]["oidc"], &settings.body["external"]["email"]),
            (&json!(true), &json!(true))
        );

        let mut browser = Browser::new(&site);
        let page = Url::parse(&browser.begin("&scopes=groups").await).unwrap();
        let sent: std::collections::HashMap<_, _> = page.query_pairs().into_owned().collect();
        assert_eq!(sent["scope"], "openid email profile groups");
        assert_eq!(sent["redirect_uri"], format!("{}/auth/v1/callback", site.origin()));
        let callback = browser.consent(page.as_str()).await;
        let end = browser.arrive(&callback).await;
        assert_eq!(end.url.as_str().split('?').next().unwrap(), format!("{}/", site.origin()));
        let session = site.exchange(&end.query["code"]).await;
        assert_eq!(session.status, 200, "{}", session.body);

        let claims = claims_of(&session.text("/access_token"));
        assert_eq!((&claims["aal"], &claims["amr"][0]["method"]), (&json!("aal1"), &json!("oauth")));
        let user = get_user(&site.app, &session.text("/access_token")).await.body;
        assert_eq!((&user["email"], &user["app_metadata"]["provider"]), (&json!("ann@example.com"), &json!("oidc")));
        assert_eq!(user["user_metadata"]["full_name"], "Ann Example");
        let identities = user["identities"].as_array().unwrap();
        assert_eq!(identities.len(), 1, "no identity with a password: {identities:?}");
        assert_eq!((&identities[0]["provider"], &identities[0]["id"]), (&json!("oidc"), &json!("ann-1")));
        assert!(user["email_confirmed_at"].is_string());

        // The provider knows the user by the subject, whatever their address is now.
        site.provider.script().claims = json!({ "email": "ann.new@example.com" });
        let again = site.sign_in().await;
        assert_eq!(again.body["user"]["id"], user["id"]);
        assert_eq!(again.body["user"]["email"], "ann@example.com", "the account keeps its address");
        assert_eq!(again.body["user"]["identities"][0]["identity_data"]["email"], "ann.new@example.com");
        site.provider.script().claims = json!({ "sub": "bob-1", "email": "bob@example.com" });
        assert_ne!(site.sign_in().await.body["user"]["id"], user["id"]);
        site.app.stop().await;
    }
}

#[tokio::test]
async fn clients_without_pkce_get_the_session_in_the_fragment() {
    let site = Site::start(testkit::Database::Sqlite).await;
    let mut browser = Browser::new(&site);
    let page = browser.begin_with(&format!("&redirect_to={}/auth", site.origin())).await;
    let callback = browser.consent(&page).await;
    let end = browser.arrive(&callback).await;
    assert_eq!((end.url.path(), end.url.query()), ("/auth", None));
    assert_eq!(end.fragment["token_type"], "bearer");
    assert_eq!(get_user(&site.app, &end.fragment["access_token"]).await.text("/email"), "ann@example.com");
    site.app.stop().await;
}

#[tokio::test]
async fn redirects_only_to_allowed_targets() {
    let site = Site::start(testkit::Database::Sqlite).await;
    for target in ["https://evil.example/", "//evil.example", "javascript:alert(1)", "http://localhost.evil.example/"] {
        let end = Browser::new(&site).sign_in(&format!("&redirect_to={target}")).await;
        assert!(
            end.query.contains_key("code") && end.url.as_str().starts_with(&site.origin()),
            "{target}: {}",
            end.url
        );
    }
    // Neither does an error lead anywhere else.
    let end = Browser::new(&site)
        .arrive(&format!("{}/auth/v1/callback?state=x&redirect_to=https://evil.example", site.origin()))
        .await;
    assert!(end.url.as_str().starts_with(&site.origin()), "{}", end.url);
    site.app.stop().await;
}

#[tokio::test]
async fn passes_on_that_the_user_declined() {
    let site = Site::start(testkit::Database::Sqlite).await;
    let mut browser = Browser::new(&site);
    let callback = browser.begin("").await;
    let callback = browser.consent(&callback).await;
    let mut declined = Url::parse(&callback).unwrap();
    let state = declined.query_pairs().find(|(name, _)| name == "state").unwrap().1.into_owned();
    declined.query_pairs_mut().clear().extend_pairs([
        ("state", state.as_str()),
        ("iss", &site.provider.issuer),
        ("error", "access_denied"),
        ("error_description", "The user said no"),
    ]);
    let end = browser.arrive(declined.as_str()).await;
    for place in [&end.query, &end.fragment] {
        assert_eq!(
            (place["error"].as_str(), place["error_description"].as_str()),
            ("access_denied", "The user said no")
        );
    }
    assert_eq!(site.failed_sign_ins().await, 1);
    site.app.stop().await;
}

#[tokio::test]
async fn without_a_provider_there_is_none() {
    let app = testkit::TestApp::start().await;
    let answer = send(request(&app, Method::GET, "/authorize?provider=oidc")).await;
    assert_eq!(answer.refusal(), refused(400, "validation_failed"));
    let settings = send(request(&app, Method::GET, "/settings")).await;
    assert_eq!(settings.body["external"]["oidc"], Value::Bool(false));
    app.stop().await;
}

#[tokio::test]
async fn an_outage_of_the_provider_is_an_error_on_the_page() {
    let site = Site::start(testkit::Database::Sqlite).await;
    let Site { app, provider, clock } = site;
    drop(provider);
    let provider = provider::ScriptedProvider::start().await;
    // The server still expects the provider at the old port, where nobody listens any more.
    let site = Site { app, provider, clock };
    let end = Url::parse(&Browser::new(&site).begin("").await).unwrap();
    assert!(
        end.as_str().starts_with(&site.origin()) && end.as_str().contains("error_code=unexpected_failure"),
        "{end}"
    );
    site.app.stop().await;
}
