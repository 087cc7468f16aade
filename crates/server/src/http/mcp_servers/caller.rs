//! Whose tools are called: a bearer token, be it the person's own or one that this server made for a connection of theirs.

use axum::http::request::Parts;
use domain::UserId;

use super::refusal::Refusal;
use crate::app::App;
use crate::auth::{Audience, AuthError};
use crate::http::extract::bearer;

pub async fn identify(app: &App, parts: &Parts) -> Result<UserId, Refusal> {
    let token = bearer(parts).ok_or_else(Refusal::unauthorized)?;
    if let Ok(user) = app.auth.verify_internal(token, Audience::Mcp, app.clock.now()) {
        return Ok(user);
    }
    match app.auth.verify(app, token).await {
        Ok(claims) => Ok(claims.user),
        Err(AuthError::Internal(error)) => Err(Refusal::internal(&error)),
        Err(_) => Err(Refusal::unauthorized()),
    }
}
