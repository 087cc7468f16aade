//! `/user/identities`: linking and unlinking of an account at the identity provider.

use accounts::AccountService;
use accounts::gotrue_error::GoTrueError;
use accounts::oidc::{PROVIDER, SIGN_IN_LIFETIME_SECONDS};
use accounts::rate_limits::RateLimit;
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, header};
use axum::response::{AppendHeaders, IntoResponse, Response};
use http_server::extract::{Address, Named};
use http_server::openapi::{Operation, OperationOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::dto::EmptyObject;
use super::error::AuthApiError;
use super::extract::{AuthQuery, Caller};
use super::oidc::{AuthorizeQuery, FoundRedirect, SIGN_IN_COOKIE, sign_in_target};
use super::unsupported::reject_provider;
use crate::state::SiteUrl;

const NO_LINKING: GoTrueError = GoTrueError::unsupported(404, "manual_linking_disabled", "Manual linking is disabled");

/// Query of [`begin_link`].
#[derive(Deserialize, JsonSchema)]
pub struct LinkQuery {
    #[serde(flatten)]
    target: AuthorizeQuery,
    /// `true`: the page is returned in JSON instead of a redirect.
    skip_http_redirect: Option<String>,
}

/// The provider's page, to which the browser is to be sent.
#[derive(Serialize, JsonSchema)]
pub struct ProviderPage {
    #[schemars(url)]
    url: String,
}

/// The response to [`begin_link`].
pub enum BegunLink {
    /// For clients that send the browser there themselves.
    Page(Json<ProviderPage>),
    /// For browsers.
    Redirect(FoundRedirect),
}

impl IntoResponse for BegunLink {
    fn into_response(self) -> Response {
        match self {
            Self::Page(page) => page.into_response(),
            Self::Redirect(redirect) => redirect.into_response(),
        }
    }
}

impl OperationOutput for BegunLink {
    fn describe(operation: &mut Operation<'_>) {
        Json::<ProviderPage>::describe(operation);
        FoundRedirect::describe(operation);
    }
}

/// Begins to link an account at the identity provider (`GET /user/identities/authorize`).
pub async fn begin_link(
    State(accounts): State<AccountService>,
    State(site_url): State<SiteUrl>,
    Caller(claims): Caller,
    Address(from): Address,
    headers: HeaderMap,
    AuthQuery(query): AuthQuery<LinkQuery>,
) -> Result<(AppendHeaders<[(HeaderName, String); 1]>, BegunLink), AuthApiError> {
    if accounts.oidc().is_none() {
        return Err(NO_LINKING.into());
    }
    let provider = query.target.provider.clone().unwrap_or_default();
    if provider != PROVIDER {
        return Err(reject_provider(&provider).into());
    }
    accounts.rate_limits().check(RateLimit::Token, from).await?;
    let target = sign_in_target(&accounts, query.target)?;
    let begun = accounts.begin_identity_link(claims, target, SIGN_IN_COOKIE.read(&headers)).await?;
    let cookie = SIGN_IN_COOKIE.set(&site_url, &begun.browser_secret, SIGN_IN_LIFETIME_SECONDS);
    let begun = if query.skip_http_redirect.as_deref() == Some("true") {
        BegunLink::Page(Json(ProviderPage { url: begun.url.into() }))
    } else {
        BegunLink::Redirect(FoundRedirect(begun.url))
    };
    Ok((AppendHeaders([(header::SET_COOKIE, cookie)]), begun))
}

/// Unlinks an account at the identity provider (`DELETE /user/identities/{id}`).
pub async fn unlink(
    State(accounts): State<AccountService>,
    Caller(claims): Caller,
    Named(id): Named,
) -> Result<Json<EmptyObject>, AuthApiError> {
    if accounts.oidc().is_none() {
        return Err(NO_LINKING.into());
    }
    accounts.unlink_identity(claims, &id).await?;
    Ok(Json(EmptyObject {}))
}
