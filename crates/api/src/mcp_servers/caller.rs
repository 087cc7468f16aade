//! Authentication of callers of servers that act on a user's data.

use accounts::{AccountService, Audience, AuthError};
use axum::http::request::Parts;
use domain::UserId;
use http_server::extract::bearer;

use super::refusal::RpcError;

/// Returns the caller, who authenticates with their own access token or with an internal token that this server
/// issued for one of their connections.
pub async fn identify(accounts: &AccountService, parts: &Parts) -> Result<UserId, RpcError> {
    let token = bearer(parts).ok_or_else(RpcError::unauthorized)?;
    // The internal token is checked first, because it needs no database.
    if let Ok(user) = accounts.verify_internal(token, Audience::Mcp) {
        return Ok(user);
    }
    match accounts.verify(token).await {
        Ok(claims) => Ok(claims.user),
        Err(AuthError::Internal(error)) => Err(RpcError::internal(&error)),
        Err(_) => Err(RpcError::unauthorized()),
    }
}
