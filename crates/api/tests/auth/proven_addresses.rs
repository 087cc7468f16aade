//! Domains give access to models and shared servers, but only to users whose address is proven to be theirs.

use std::collections::BTreeMap;

use connections::shared_servers::ServerOffer;
use reqwest::Method;
use serde_json::{Value, json};
use testkit::{Builder, ScriptedModel, StatefulMcp, TestApp, databases};

use super::admin::{KEY, admin};
use super::caller::{PASSWORD, post, put_user, sign_in};
use super::oidc::browser::Site;

/// Offers a server to the users of a domain.
async fn offer(app: &TestApp, url: &str, domain: &str) {
    let (state, domains) = (&app.state, [domain.parse().unwrap()]);
    let headers = BTreeMap::new();
    let offer = ServerOffer { name: "post", url, description: "", headers: &headers, domains: &domains, groups: &[] };
    offer.store(&state.storage, &state.secrets, state.clock.now(), &state.audit).await.unwrap();
}

async fn get(app: &TestApp, token: &str, path: &str) -> Value {
    let answer = app.http.get(format!("{}{path}", app.url)).bearer_auth(token).send().await.unwrap();
    answer.json().await.unwrap()
}

/// Returns the number of models and of shared servers that a user may use.
async fn access(app: &TestApp, token: &str) -> (usize, usize) {
    let models = get(app, token, "/api/models").await["models"].as_array().unwrap().len();
    (models, get(app, token, "/api/shared-servers").await["servers"].as_array().unwrap().len())
}

fn with_rules(builder: Builder, model: &ScriptedModel) -> Builder {
    builder
        .set("OPENAI_BASE_URL", &*model.base_url)
        .set("CHAT_LOCAL_MODEL", "off")
        .set("CHAT_SERVICE_ROLE_KEY", KEY)
        .set("CHAT_MODEL_ACCESS", "vip.example=openai/scripted")
}

#[tokio::test]
async fn an_address_that_the_user_only_claims_gives_no_access() {
    for database in databases() {
        let (model, mcp) = (ScriptedModel::start([]).await, StatefulMcp::start([]).await);
        // Without a mail server, users change their address at once.
        let builder = TestApp::builder().database(database).set("CHAT_SIGNUPS", "closed");
        let app = with_rules(builder, &model).start().await;
        offer(&app, &mcp.url, "vip.example").await;
        let create = async |email: &str| {
            let account = json!({ "email": email, "password": PASSWORD, "email_confirm": true });
            let created = admin(&app, Method::POST, "/admin/users", &account).await;
            (created.text("/id"), sign_in(&app, email, PASSWORD).await.text("/access_token"))
        };
        let (_, ann) = create("ann@vip.example").await;
        assert_eq!(access(&app, &ann).await, (1, 1), "the operator vouches for the address");
        let (id, eve) = create("eve@example.com").await;
        let changed = put_user(&app, &eve, &json!({ "email": "eve@vip.example" })).await;
        assert_eq!((changed.status, changed.text("/email").as_str()), (200, "eve@vip.example"));
        assert!(changed.body["email_confirmed_at"].is_string());
        assert_eq!(access(&app, &eve).await, (0, 0));

        // A link to sign in proves nothing: others who can use the account stay in it.
        let link = json!({ "type": "magiclink", "email": "eve@vip.example" });
        let link = admin(&app, Method::POST, "/admin/generate_link", &link).await;
        let opened = json!({ "type": "magiclink", "token_hash": link.text("/hashed_token") });
        let opened = post(&app, "/verify", &opened).await;
        assert_eq!(access(&app, &opened.text("/access_token")).await, (0, 0));

        let path = format!("/admin/users/{id}");
        assert_eq!(admin(&app, Method::PUT, &path, &json!({ "email": "eve@example.org" })).await.status, 200);
        assert_eq!(admin(&app, Method::PUT, &path, &json!({ "email": "eve@vip.example" })).await.status, 200);
        assert_eq!(access(&app, &eve).await, (0, 0));
        assert_eq!(admin(&app, Method::PUT, &path, &json!({ "email_confirm": true })).await.status, 200);
        assert_eq!(access(&app, &eve).await, (1, 1));
        // Ann moves away.
        assert_eq!(put_user(&app, &ann, &json!({ "email": "ann@example.com" })).await.status, 200);
        assert_eq!(access(&app, &ann).await, (0, 0));
        app.stop().await;
    }
}

#[tokio::test]
async fn a_sign_up_without_a_proof_gives_no_access() {
    for database in databases() {
        let mcp = StatefulMcp::start([]).await;
        let app = TestApp::builder().database(database).set("CHAT_ANONYMOUS_SIGN_IN", "on").start().await;
        offer(&app, &mcp.url, "vip.example").await;
        let servers = async |token: &str| get(&app, token, "/api/shared-servers").await["servers"].clone();
        let signed_up = json!({ "email": "eve@vip.example", "password": PASSWORD });
        let eve = post(&app, "/signup", &signed_up).await.text("/access_token");
        assert_eq!(servers(&eve).await, json!([]));
        let visitor = post(&app, "/signup", &json!({ "data": {} })).await.text("/access_token");
        assert_eq!(put_user(&app, &visitor, &json!({ "email": "eva@vip.example" })).await.status, 200);
        assert_eq!(servers(&visitor).await, json!([]));
        app.stop().await;
    }
}

#[tokio::test]
async fn an_emailed_link_proves_the_address() {
    for database in databases() {
        let (model, mcp) = (ScriptedModel::start([]).await, StatefulMcp::start([]).await);
        let builder = TestApp::builder().database(database).set("CHAT_AUTOCONFIRM", "off");
        let app = with_rules(builder, &model).start().await;
        offer(&app, &mcp.url, "vip.example").await;
        let link = async |wish: Value| {
            let link = admin(&app, Method::POST, "/admin/generate_link", &wish).await;
            link.text("/hashed_token")
        };
        let open = async |kind: &str, token: String| {
            post(&app, "/verify", &json!({ "type": kind, "token_hash": token })).await
        };
        let sign_up = link(json!({ "type": "signup", "email": "ann@vip.example", "password": PASSWORD })).await;
        let ann = open("signup", sign_up).await.text("/access_token");
        assert_eq!(access(&app, &ann).await, (1, 1));
        for (from, to, expected) in
            [("ann@vip.example", "ann@example.com", (0, 0)), ("ann@example.com", "ann@vip.example", (1, 1))]
        {
            let wish = |kind: &str| json!({ "type": kind, "email": from, "new_email": to });
            let (current, new) = (link(wish("email_change_current")).await, link(wish("email_change_new")).await);
            assert_eq!(open("email_change", current).await.text("/code"), "200");
            assert_eq!(open("email_change", new).await.text("/user/email"), to);
            assert_eq!(access(&app, &ann).await, expected, "{to}");
        }
        app.stop().await;
    }
}

#[tokio::test]
async fn an_identity_provider_proves_only_the_addresses_that_it_has_verified() {
    for database in databases() {
        let mcp = StatefulMcp::start([]).await;
        let site = Site::start_with(TestApp::builder().database(database)).await;
        offer(&site.app, &mcp.url, "example.com").await;
        let offered = async |claims: Value| {
            site.provider.script().claims = claims;
            let token = site.sign_in().await.text("/access_token");
            get(&site.app, &token, "/api/shared-servers").await["servers"].as_array().unwrap().len()
        };
        assert_eq!(offered(json!({ "email_verified": false })).await, 0);
        assert_eq!(offered(json!({ "email": "ann@other.example" })).await, 0, "another address");
        assert_eq!(offered(json!({ "email_verified": true })).await, 1, "the provider has verified it since");
        assert_eq!(offered(json!({ "email_verified": false })).await, 1, "and it stays proven");
        let eve = json!({ "sub": "eve-1", "email": "eve@example.com", "email_verified": false });
        assert_eq!(offered(eve).await, 0);
        site.app.stop().await;
    }
}
