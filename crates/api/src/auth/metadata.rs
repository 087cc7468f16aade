//! Public information: signing keys, settings and health.

use std::collections::BTreeMap;

use accounts::AccountService;
use accounts::oidc::PROVIDER;
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderName, header};
use axum::response::AppendHeaders;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::unsupported::OAUTH_PROVIDERS;
use crate::state::PublicSettings;

/// The public keys that verify access tokens, as a JWK set (RFC 7517).
#[derive(Serialize, JsonSchema)]
#[schemars(extend(
    "type" = "object",
    "required" = ["keys"],
    "properties" = {
        "keys": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["kty", "kid", "alg"],
                "properties": { "kty": { "type": "string" }, "kid": { "type": "string" }, "alg": { "type": "string" } },
                "not": { "required": ["d"] },
            },
        },
    },
))]
pub struct KeySet(Value);

/// Ways to sign in, and features of GoTrue that are switched on.
#[derive(Serialize, JsonSchema)]
pub struct AuthSettings {
    /// Ways to sign in, by name: true if the server supports it.
    external: BTreeMap<&'static str, bool>,
    disable_signup: bool,
    /// True if new addresses count as confirmed.
    mailer_autoconfirm: bool,
    phone_autoconfirm: bool,
    sms_provider: &'static str,
    saml_enabled: bool,
    saml_private_key_next_configured: bool,
    /// True if users can sign in with passkeys.
    passkeys_enabled: bool,
}

/// Name and version of the server.
#[derive(Serialize, JsonSchema)]
pub struct AuthHealth {
    version: &'static str,
    name: &'static str,
    description: &'static str,
}

/// Returns the public keys of access tokens (`GET /.well-known/jwks.json`). Clients cache them for ten minutes.
pub async fn get_jwks(
    State(accounts): State<AccountService>,
) -> (AppendHeaders<[(HeaderName, &'static str); 1]>, Json<KeySet>) {
    let headers = AppendHeaders([(header::CACHE_CONTROL, "public, max-age=600")]);
    (headers, Json(KeySet(accounts.jwk_set().clone())))
}

/// Returns which ways to sign in exist (`GET /settings`).
pub async fn get_settings(
    State(settings): State<PublicSettings>,
    State(accounts): State<AccountService>,
) -> Json<AuthSettings> {
    let mut external: BTreeMap<&str, bool> = OAUTH_PROVIDERS.into_iter().map(|provider| (provider, false)).collect();
    external.extend([("anonymous_users", settings.anonymous_sign_in), ("phone", false)]);
    external.insert("email", accounts.oidc().is_none_or(|oidc| !oidc.is_only));
    external.insert(PROVIDER, accounts.oidc().is_some());
    Json(AuthSettings {
        external,
        disable_signup: !accounts.allows_sign_up(),
        mailer_autoconfirm: settings.autoconfirm,
        phone_autoconfirm: false,
        sms_provider: "",
        saml_enabled: false,
        saml_private_key_next_configured: false,
        passkeys_enabled: accounts.has_passkeys(),
    })
}

/// Returns name and version (`GET /health`).
pub async fn get_health() -> Json<AuthHealth> {
    Json(AuthHealth {
        version: env!("CARGO_PKG_VERSION"),
        name: "AI Chat MCP",
        description: "Accounts and sign-ins, over the API of GoTrue",
    })
}
