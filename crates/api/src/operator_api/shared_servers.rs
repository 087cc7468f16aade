//! `/admin/api/shared-servers`: MCP servers that the operator offers to users.

use std::collections::BTreeMap;
use std::sync::Arc;

use accounts::AccountService;
use axum::Json;
use axum::extract::State;
use axum::response::NoContent;
use connections::shared_servers::{OfferError, ServerOffer, withdraw};
use domain::{Clock, SharedServerId};
use http_server::error::ApiError;
use http_server::extract::{JsonBody, Named};
use platform::config::{HostName, PROVE_ADDRESSES};
use platform::{AuditLog, SecretSealer};
use serde::{Deserialize, Serialize};
use storage::Storage;
use storage::shared_servers::SharedServer;

/// A shared server. The values of its headers and of its URL's query are secret.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SharedServerDto {
    id: SharedServerId,
    name: String,
    description: String,
    /// URL, with `***` for the values of its query.
    url: String,
    has_headers: bool,
    /// Domains of the proven email addresses of users to whom it is offered.
    domains: Vec<String>,
    /// Groups at the identity provider that are offered it, too. Without both, it is offered to every user.
    groups: Vec<String>,
}

impl From<SharedServer> for SharedServerDto {
    fn from(server: SharedServer) -> Self {
        Self {
            id: server.id,
            name: server.name,
            description: server.description,
            url: server.url,
            has_headers: server.headers.is_some(),
            domains: server.domains,
            groups: server.groups,
        }
    }
}

/// All shared servers, by name.
#[derive(Debug, Serialize)]
pub struct SharedServerOffers {
    servers: Vec<SharedServerDto>,
}

/// Lists the shared servers (`GET /shared-servers`).
pub async fn list_servers(State(storage): State<Storage>) -> Result<Json<SharedServerOffers>, ApiError> {
    let servers = storage.shared_servers().list().await?;
    Ok(Json(SharedServerOffers { servers: servers.into_iter().map(SharedServerDto::from).collect() }))
}

/// An offer.
#[derive(Debug, Deserialize)]
pub struct OfferBody {
    name: String,
    url: String,
    #[serde(default)]
    description: String,
    /// HTTP headers to send, by name.
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    domains: Vec<String>,
    #[serde(default)]
    groups: Vec<String>,
}

/// Offers a server to users, or replaces the offer with its name (`POST /shared-servers`).
pub async fn offer_server(
    State(storage): State<Storage>,
    State(secrets): State<Arc<SecretSealer>>,
    State(clock): State<Arc<dyn Clock>>,
    State(accounts): State<AccountService>,
    State(audit): State<AuditLog>,
    JsonBody(body): JsonBody<OfferBody>,
) -> Result<NoContent, ApiError> {
    let invalid = |message| ApiError::Unprocessable { code: "invalid_offer", message };
    let domains = body.domains.iter().map(|domain| domain.parse::<HostName>().map_err(|_| domain));
    let domains: Vec<HostName> = domains
        .collect::<Result<_, _>>()
        .map_err(|domain| invalid(format!("{domain} is not a domain such as example.com")))?;
    if !body.groups.is_empty() && accounts.oidc().is_none_or(|oidc| oidc.groups_claim.is_none()) {
        return Err(invalid("groups need CHAT_OIDC_GROUPS_CLAIM".to_owned()));
    }
    if !domains.is_empty() && accounts.admits_unproven_addresses() {
        return Err(invalid(format!("domains need proven addresses; {PROVE_ADDRESSES}")));
    }
    let offer = ServerOffer {
        name: &body.name,
        url: &body.url,
        description: &body.description,
        headers: &body.headers,
        domains: &domains,
        groups: &body.groups,
    };
    offer.store(&storage, &secrets, clock.now(), &audit).await.map_err(|error| match error {
        OfferError::Invalid(message) => invalid(message),
        OfferError::Internal(error) => error.into(),
    })?;
    Ok(NoContent)
}

/// No longer offers a server, and deletes all connections of users to it (`DELETE /shared-servers/{id}`).
pub async fn withdraw_server(
    State(storage): State<Storage>,
    State(audit): State<AuditLog>,
    Named(id): Named,
) -> Result<NoContent, ApiError> {
    let servers = storage.shared_servers().list().await?;
    let server = servers.into_iter().find(|server| server.id.to_string() == id);
    let server = server.ok_or(ApiError::NotFound("shared server"))?;
    withdraw(&storage, &server.name, &audit).await?;
    Ok(NoContent)
}
