//! `/api/account/import`: imports chats from an exported file.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use serde_json::{Value, json};
use store::imports::ImportedChat;

use super::body::{self, BodyError};
use super::error::ApiError;
use super::extract::SignedIn;
use crate::AppState;
use agent::chats::file::FileFrame;
use agent::files::{FileError, MEBIBYTE};
use platform::UserEvent;

/// Maximum size of the file, in bytes.
const LIMIT: usize = 64 * 1024 * 1024;

/// Imports the chats of an exported file (`POST /api/account/import`). Chats that exist already are skipped, so an
/// import can be repeated.
pub async fn import(State(app): State<AppState>, caller: SignedIn, body: Body) -> Result<Json<Value>, ApiError> {
    // Files are parsed in memory, so few imports run at the same time on the whole server.
    let Ok(_turn) = app.imports.0.try_acquire() else {
        return Err(ApiError::Overloaded);
    };
    let bytes = body::read_bytes(body, LIMIT).await.map_err(refuse)?;
    let text = body::text(&bytes).map_err(refuse)?;
    let frame: FileFrame = body::read_value(text).map_err(refuse)?;
    let chats = frame.check(text).map_err(|error| ApiError::BadRequest(error.to_string()))?;
    // The whole file is valid by now, so an import stops only at the quota or at a fault of the server.
    let (mut imported, mut skipped, mut messages) = (0, 0, 0);
    for chat in chats {
        check_room(&app, &caller, &chat, imported).await?;
        if app.store.insert_imported_chat(caller.user, &chat, app.clock.now()).await? {
            imported += 1;
            messages += chat.messages.len();
        } else {
            skipped += 1;
        }
    }
    // One event for all: the web app reloads its list of chats.
    if imported > 0 {
        app.events.publish(caller.user, &UserEvent::Session { session_id: None, marks: None });
    }
    Ok(Json(json!({ "imported": imported, "skipped": skipped, "messages": messages })))
}

/// Maps a rejected body to an error.
fn refuse(error: BodyError) -> ApiError {
    match error {
        BodyError::TooLarge => ApiError::Unprocessable {
            code: "file_too_large",
            message: format!("a file has at most {} MiB", LIMIT / (1024 * 1024)),
        },
        BodyError::BrokeOff => ApiError::BadRequest("the body broke off".into()),
        BodyError::NotJson(error) => ApiError::BadRequest(format!("the body is not what this call takes: {error}")),
    }
}

/// Rejects a chat whose files exceed the user's storage quota. The `before` chats already imported remain, and are
/// skipped when the import is repeated.
async fn check_room(app: &AppState, caller: &SignedIn, chat: &ImportedChat, before: usize) -> Result<(), ApiError> {
    let size: u64 = chat.files.iter().map(|file| file.bytes.len() as u64).sum();
    // An existing chat is skipped and needs no space.
    if size == 0 || app.store.get_chat(caller.user, chat.id).await?.is_some() {
        return Ok(());
    }
    let most = app.config.limits.files_bytes as u64;
    if app.store.count_file_bytes(caller.user).await?.saturating_add(size) <= most {
        return Ok(());
    }
    let full = FileError::Full(most / MEBIBYTE);
    let message = format!("{full}. {before} chats were taken in before one that has files");
    Err(ApiError::TooLargeFor { code: "storage_full", message })
}
