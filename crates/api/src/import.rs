//! `/api/account/import`: imports chats from an exported file.

use std::convert::Infallible;
use std::sync::Arc;

use agent::chats::file::FileFrame;
use agent::files::{FileError, FileService};
use axum::Json;
use axum::body::Body;
use axum::extract::{FromRequest, Request, State};
use domain::Clock;
use domain::model::BYTES_PER_MEBIBYTE;
use http_server::body::{self, BodyError};
use http_server::error::ApiError;
use http_server::openapi::{Operation, OperationInput};
use platform::{UserEvent, UserEventBus};
use schemars::JsonSchema;
use serde::Serialize;
use storage::Storage;
use storage::imports::ChatImport;

use crate::limiters::ImportLimiter;
use crate::signed_in::SignedIn;

/// Maximum size of the file, in bytes.
const MAX_FILE_BYTES: usize = 64 * 1024 * 1024;

/// The body of an import: a [`FileFrame`] that is read by the handler, since few may be in memory at the same time.
#[derive(Debug)]
pub struct ImportBody(Body);

impl<S: Sync> FromRequest<S> for ImportBody {
    type Rejection = Infallible;

    async fn from_request(request: Request, _state: &S) -> Result<Self, Infallible> {
        Ok(Self(request.into_body()))
    }
}

impl OperationInput for ImportBody {
    fn describe(operation: &mut Operation<'_>) {
        operation.set_json_body::<FileFrame>();
    }
}

/// Outcome of an import.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ImportOutcome {
    /// Number of chats that are new.
    imported: usize,
    /// Number of messages of the new chats.
    messages: usize,
    /// Number of chats that existed already.
    skipped: usize,
}

/// Imports the chats of an exported file (`POST /api/account/import`). Chats that exist already are skipped, so an
/// import can be repeated.
pub async fn import_chats(
    State(imports): State<ImportLimiter>,
    State(files): State<FileService>,
    State(storage): State<Storage>,
    State(clock): State<Arc<dyn Clock>>,
    State(events): State<UserEventBus>,
    caller: SignedIn,
    ImportBody(body): ImportBody,
) -> Result<Json<ImportOutcome>, ApiError> {
    // Files are parsed in memory, so few imports run at the same time on the whole server.
    let _permit = imports.acquire()?;
    let bytes = body::read_bytes(body, MAX_FILE_BYTES).await.map_err(body_error)?;
    let text = body::text(&bytes).map_err(body_error)?;
    // Without the check for complexity, since the frame skips the chats instead of storing them.
    let frame: FileFrame = body::read_value(text).map_err(body_error)?;
    let chats = frame.check(text).map_err(|error| ApiError::BadRequest(error.to_string()))?;
    // The whole file is valid by now, so an import stops only at the quota or at a fault of the server.
    let quota_bytes = files.quota_bytes(caller.user, &storage).await?;
    let (mut imported, mut skipped, mut messages) = (0, 0, 0);
    for chat in chats {
        // One transaction for each chat: a failure leaves whole chats behind, which a repeated import skips.
        match storage.chats().insert_imported(caller.user, &chat, quota_bytes, clock.now()).await? {
            ChatImport::Inserted => {
                imported += 1;
                messages += chat.messages.len();
            }
            ChatImport::Exists => skipped += 1,
            ChatImport::Full => return Err(storage_full(quota_bytes, imported)),
        }
    }
    // One event for all: the web app reloads its list of chats.
    if imported > 0 {
        events.publish(caller.user, &UserEvent::Session { session_id: None, marks: None });
    }
    Ok(Json(ImportOutcome { imported, messages, skipped }))
}

/// Maps a rejected body to an error.
fn body_error(error: BodyError) -> ApiError {
    error.into_api_error(|| ApiError::Unprocessable {
        code: "file_too_large",
        message: format!("the file is larger than {} MiB", MAX_FILE_BYTES / (1024 * 1024)),
    })
}

/// Returns the error that the files of a chat exceed the user's storage quota. The `before` chats already imported remain,
/// and are skipped when the import is repeated.
fn storage_full(quota_bytes: u64, before: usize) -> ApiError {
    let full = FileError::Full(quota_bytes / BYTES_PER_MEBIBYTE);
    let message = format!("{full}. {before} chats were taken in before one that has files");
    ApiError::TooLargeFor { code: "storage_full", message }
}
