//! What models cost.

use axum::Json;
use axum::extract::State;
use domain::MessageId;
use serde::Serialize;
use store::usage::{OfAnswer, Total};

use super::error::ApiError;
use super::extract::{NamedTwo, SignedIn};
use super::sessions::own_home;
use crate::app::App;

/// What an answer cost, and its chat so far.
#[derive(Debug, Serialize)]
pub struct AnswerUsage {
    answer: Total,
    chat: Total,
}

/// `GET /api/sessions/{id}/messages/{message}/usage`. What was asked before costs were written down has none.
pub async fn of_answer(
    State(app): State<App>,
    caller: SignedIn,
    NamedTwo(chat, message): NamedTwo,
) -> Result<Json<AnswerUsage>, ApiError> {
    let (chat, _) = own_home(&app, &caller, &chat).await?;
    let message: MessageId = message.parse().map_err(|_| ApiError::NotFound("message"))?;
    let answer = app.store.cost_of_answer(caller.user, OfAnswer { chat, message }).await?;
    Ok(Json(AnswerUsage { answer, chat: app.store.cost_of_chat(caller.user, chat).await? }))
}
