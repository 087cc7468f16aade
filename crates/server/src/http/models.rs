//! Which models there are.

use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

use super::extract::SignedIn;
use crate::app::App;

/// All models, and the one that answers.
pub async fn list(State(app): State<App>, _caller: SignedIn) -> Json<Value> {
    let (default, models) = app.models.list().await;
    Json(json!({ "default": default, "models": models }))
}
