//! Public information: signing keys, settings and health.

use accounts::AccountService;
use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use serde_json::{Map, Value, json};

use super::unsupported::OAUTH_PROVIDERS;
use crate::state::PublicSettings;

/// Returns the public keys of access tokens (`GET /.well-known/jwks.json`). Clients cache them for ten minutes.
pub async fn get_jwks(State(accounts): State<AccountService>) -> impl IntoResponse {
    ([(header::CACHE_CONTROL, "public, max-age=600")], Json(accounts.jwk_set().clone()))
}

/// Returns which ways to sign in exist (`GET /settings`).
pub async fn get_settings(
    State(settings): State<PublicSettings>,
    State(accounts): State<AccountService>,
) -> Json<Value> {
    let mut external: Map<String, Value> =
        OAUTH_PROVIDERS.into_iter().map(|provider| (provider.to_owned(), json!(false))).collect();
    external.insert("anonymous_users".to_owned(), json!(settings.anonymous_sign_in));
    external.insert("email".to_owned(), json!(true));
    external.insert("phone".to_owned(), json!(false));
    Json(json!({
        "external": external,
        "disable_signup": !accounts.allows_sign_up(),
        "mailer_autoconfirm": settings.autoconfirm,
        "phone_autoconfirm": false,
        "sms_provider": "",
        "saml_enabled": false,
        "saml_private_key_next_configured": false,
        "passkeys_enabled": false,
    }))
}

/// Returns name and version (`GET /health`).
pub async fn get_health() -> Json<Value> {
    Json(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "name": "AI Chat MCP",
        "description": "Accounts and sign-ins, over the API of GoTrue",
    }))
}
