//! Routes of GoTrue that this server does not support. They respond as GoTrue does where a feature is disabled.

use accounts::AuthError;
use accounts::gotrue_error::GoTrueError;
use http_server::route::Access::{Anyone, FirstFactor};
use http_server::route::{Route, delete, get, post};
use schemars::JsonSchema;
use serde::Deserialize;

use super::error::{AuthApiError, Unsupported};
use super::extract::Caller;
use crate::AppState;

pub const NO_OAUTH_SERVER: Unsupported =
    Unsupported(GoTrueError::unsupported(404, "feature_disabled", "OAuth server is disabled"));
const NO_SAML: Unsupported =
    Unsupported(GoTrueError::unsupported(404, "saml_provider_disabled", "SAML 2.0 is disabled"));

/// OAuth providers that GoTrue supports.
pub const OAUTH_PROVIDERS: [&str; 25] = [
    "apple",
    "azure",
    "bitbucket",
    "discord",
    "facebook",
    "figma",
    "fly",
    "github",
    "gitlab",
    "google",
    "kakao",
    "keycloak",
    "linkedin",
    "linkedin_oidc",
    "notion",
    "slack",
    "slack_oidc",
    "snapchat",
    "spotify",
    "twitch",
    "twitter",
    "vercel_marketplace",
    "workos",
    "x",
    "zoom",
];

/// Providers whose ID tokens GoTrue accepts, each with its issuer.
const ID_TOKEN_ISSUERS: [(&str, &str); 6] = [
    ("google", "https://accounts.google.com"),
    ("facebook", "https://www.facebook.com"),
    ("kakao", "https://kauth.kakao.com"),
    ("keycloak", ""),
    ("snapchat", "https://accounts.snapchat.com/accounts/oauth2/token"),
    ("vercel_marketplace", "https://marketplace.vercel.com"),
];

/// Sign-in by an ID token of another provider, which is not supported.
#[derive(Deserialize, JsonSchema)]
pub struct IdTokenGrant {
    #[serde(rename = "id_token")]
    token: Option<String>,
    provider: Option<String>,
    client_id: Option<String>,
    issuer: Option<String>,
}

/// Returns the routes that users and their programs may try.
pub fn routes() -> Vec<Route<AppState>> {
    let mut routes = Vec::new();
    routes.extend(describe_unsupported(
        "Not supported: SAML.",
        [
            post("/sso", Anyone, NO_SAML),
            get("/sso/saml/metadata", Anyone, NO_SAML),
            post("/sso/saml/acs", Anyone, NO_SAML),
        ],
    ));
    routes.extend(describe_unsupported(
        "Not supported: an OAuth server.",
        [
            get("/user/oauth/grants", FirstFactor, reject_grants),
            delete("/user/oauth/grants", FirstFactor, reject_grants),
            post("/oauth/clients/register", Anyone, NO_OAUTH_SERVER),
            post("/oauth/token", Anyone, NO_OAUTH_SERVER),
            get("/oauth/userinfo", Anyone, NO_OAUTH_SERVER),
            get("/oauth/authorize", Anyone, NO_OAUTH_SERVER),
            get("/oauth/authorizations/{id}", Anyone, NO_OAUTH_SERVER),
            post("/oauth/authorizations/{id}/consent", Anyone, NO_OAUTH_SERVER),
        ],
    ));
    routes
}

/// Describes the routes of a feature that this server does not support. Each of them responds with an error.
pub fn describe_unsupported<const N: usize>(
    summary: &'static str,
    routes: [Route<AppState>; N],
) -> impl Iterator<Item = Route<AppState>> {
    routes.into_iter().map(move |route| route.describe_error::<AuthApiError>(summary))
}

/// Returns the error for a sign-in at another provider than the configured one (`GET /authorize`).
pub fn reject_provider(provider: &str) -> AuthError {
    let why = if provider.starts_with("custom:") {
        "custom OAuth providers are disabled".to_owned()
    } else if OAUTH_PROVIDERS.contains(&provider.to_lowercase().as_str()) {
        "provider is not enabled".to_owned()
    } else {
        format!("Provider {} could not be found", provider.to_lowercase())
    };
    invalid_request(format!("Unsupported provider: {why}"))
}

/// Rejects requests for OAuth grants (`/user/oauth/grants`).
pub async fn reject_grants(_caller: Caller) -> AuthApiError {
    NO_OAUTH_SERVER.into()
}

/// Returns the error for a sign-in with an ID token (`POST /token?grant_type=id_token`).
pub fn reject_id_token(body: IdTokenGrant) -> AuthError {
    let filled = |field: Option<String>| field.unwrap_or_default();
    let (provider, issuer) = (filled(body.provider), filled(body.issuer));
    if filled(body.token).is_empty() {
        return invalid_request("id_token required".to_owned());
    }
    if provider.is_empty() && (filled(body.client_id).is_empty() || issuer.is_empty()) {
        return invalid_request("provider or client_id and issuer required".to_owned());
    }
    // An empty issuer stands for one that depends on the installation; it matches no request.
    let known = |(name, theirs): &&(&str, &str)| *name == provider || (!theirs.is_empty() && *theirs == issuer);
    if let Some((_, theirs)) = ID_TOKEN_ISSUERS.iter().find(known) {
        let message = format!("Provider (issuer {theirs:?}) is not enabled");
        return AuthError::GoTrueWithMessage { status: 400, code: "provider_disabled", message };
    }
    match provider.as_str() {
        // GoTrue finds the issuers of these two in the ID token; this is its error where it finds none.
        "apple" => invalid_request("Unable to detect issuer in ID token for Apple provider".to_owned()),
        "azure" => invalid_request("Unable to detect issuer in ID token for Azure provider".to_owned()),
        _ if provider.starts_with("custom:") => invalid_request("Custom OAuth providers are disabled".to_owned()),
        _ => invalid_request(format!("Custom OIDC provider {provider:?} not allowed")),
    }
}

fn invalid_request(message: String) -> AuthError {
    AuthError::GoTrueWithMessage { status: 400, code: "validation_failed", message }
}
