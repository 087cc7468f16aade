//! `/v1/files`: files attached to messages, files that tools returned, and images that models generated.

use std::convert::Infallible;
use std::fmt::Write as _;

use agent::files::{FileError, FileService, MAX_UPLOAD_BYTES};
use axum::body::Body;
use axum::extract::{FromRequest, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, NoContent, Response};
use bytes::Bytes;
use domain::file::FileRef;
use domain::{ChatId, FileId};
use futures_util::stream;
use http_server::body::read_bytes;
use http_server::error::ApiError;
use http_server::extract::{Named, Query};
use http_server::openapi::{Operation, OperationInput, OperationOutput};
use http_server::response::Created;
use http_server::route::{Access, Section};
use http_server::routes;
use platform::Permit;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::AppState;
use crate::limiters::{DownloadLimiter, UploadLimiter};
use crate::signed_in::SignedIn;

/// Content security policy of every file: a browser may display or save it, but not run it or frame anything in it.
const FILE_POLICY: &str = "default-src 'none'; sandbox";
/// Media types that are served inline. All others are downloaded.
const INLINE_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// Size of the chunks of a response body, in bytes.
const CHUNK_BYTES: usize = 64 * 1024;

/// Returns the routes below `/v1/files`, whose errors are [`ApiError`]s.
pub fn section() -> Section<AppState> {
    let routes = routes! {
        /// Uploads a file. It is deleted after a day unless a message refers to it. Accepts images (PNG, JPEG, WebP,
        /// GIF), PDF and UTF-8 text; the type is detected from the content.
        post("/", Access::SignedIn, upload_file),
        /// Returns the content of one of the caller's files.
        get("/{id}", Access::Owner, download_file),
        /// Deletes one of the caller's files that was not sent with a message.
        delete("/{id}", Access::Owner, delete_file),
    };
    Section::new("/v1/files", routes, |routes| {
        routes
            .fallback(http_server::error::no_such_route)
            .method_not_allowed_fallback(http_server::error::method_not_allowed)
    })
}

/// Converts to the error response.
fn to_api_error(error: FileError) -> ApiError {
    match error {
        FileError::Empty => ApiError::BadRequest(error.to_string()),
        FileError::Kind => ApiError::UnsupportedKind(error.to_string()),
        FileError::Full(_) => ApiError::TooLargeFor { code: "storage_full", message: error.to_string() },
        FileError::Storage(error) => error.into(),
    }
}

/// Query parameters of an upload.
#[derive(Debug, Deserialize, JsonSchema)]
struct UploadQuery {
    /// Name of the file.
    #[serde(default)]
    name: Option<String>,
    /// The temporary chat that the file is for. Its files are held in memory and never stored.
    #[serde(default, rename = "sessionId")]
    session_id: Option<ChatId>,
}

/// The content of an uploaded file, which the handler reads after its own checks.
#[derive(Debug)]
struct UploadBody(Body);

impl<S: Sync> FromRequest<S> for UploadBody {
    type Rejection = Infallible;

    async fn from_request(request: Request, _state: &S) -> Result<Self, Infallible> {
        Ok(Self(request.into_body()))
    }
}

impl OperationInput for UploadBody {
    fn describe(operation: &mut Operation<'_>) {
        operation.set_body("text/plain", json!({ "type": "string", "minLength": 1, "pattern": "^[ -~]+$" }));
    }
}

/// The file as it was stored.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct UploadedFile {
    id: FileId,
    name: Option<String>,
    media_type: String,
    /// Size in bytes.
    size: u64,
}

/// Stores an uploaded file (`POST /v1/files?name=`).
async fn upload_file(
    State(uploads): State<UploadLimiter>,
    State(files): State<FileService>,
    caller: SignedIn,
    Query(about): Query<UploadQuery>,
    headers: HeaderMap,
    UploadBody(body): UploadBody,
) -> Result<Created<UploadedFile>, ApiError> {
    // A whole upload is held in memory, so the number of simultaneous ones is limited.
    let _permit = uploads.acquire(caller.user)?;
    let too_large = || ApiError::TooLargeFor {
        code: "file_too_large",
        message: format!("the file is larger than {} MiB", MAX_UPLOAD_BYTES / (1024 * 1024)),
    };
    let bytes = read_bytes(body, MAX_UPLOAD_BYTES).await.map_err(|error| error.into_api_error(too_large))?;
    // The declared type is a hint only: the type is determined from the content.
    let content_type = headers.get(header::CONTENT_TYPE).and_then(|content_type| content_type.to_str().ok());
    let kept = files
        .store_upload(caller.user, about.session_id, (about.name.as_deref(), content_type), &bytes)
        .await
        .map_err(to_api_error)?;
    let FileRef { id, filename: name, media_type, size } = kept;
    Ok(Created(UploadedFile { id, name, media_type, size }))
}

/// Returns a file's content (`GET /v1/files/{id}`).
async fn download_file(
    State(downloads): State<DownloadLimiter>,
    State(files): State<FileService>,
    caller: SignedIn,
    Named(id): Named,
) -> Result<FileResponse, ApiError> {
    let not_found = || ApiError::NotFound("file");
    let id: FileId = id.parse().map_err(|_| not_found())?;
    let (home, known) = files.find(caller.user, id).await?.ok_or_else(not_found)?;
    // Acquired before the content is read into memory.
    let permit = downloads.acquire(caller.user)?;
    // The file may have been deleted since it was found.
    let bytes = home.files().get_bytes(caller.user, id).await?.ok_or_else(not_found)?;
    Ok(FileResponse(file_response(&known.file, bytes, permit)))
}

/// The content of a file, as [`file_response`] builds it.
#[derive(Debug)]
pub struct FileResponse(pub Response);

impl IntoResponse for FileResponse {
    fn into_response(self) -> Response {
        self.0
    }
}

impl OperationOutput for FileResponse {
    fn describe(operation: &mut Operation<'_>) {
        let description = "The bytes. Images are displayed by browsers, everything else is saved.";
        operation.add_content(StatusCode::OK, description, "*/*", json!({}));
        operation.add_response_header(StatusCode::OK, "Content-Disposition");
    }
}

/// Builds the response for a file, never as a type that a browser would run. The permit (a [`Permit`]) is released
/// when the last chunk was handed to the connection.
pub fn file_response(file: &FileRef, bytes: Vec<u8>, permit: Permit) -> Response {
    let is_drawn = INLINE_TYPES.contains(&file.media_type.as_str());
    let kind = match file.media_type.as_str() {
        kind if is_drawn || kind == "application/pdf" || kind.starts_with("audio/") => kind.to_owned(),
        // HTML and SVG were stored as `text/plain`, so that a browser never renders them.
        _ if file.is_text() => format!("{}; charset=utf-8", file.media_type),
        // Everything else is served as bytes, so that the browser does not guess a type.
        _ => "application/octet-stream".to_owned(),
    };
    let kind = HeaderValue::from_str(&kind).unwrap_or(HeaderValue::from_static("application/octet-stream"));
    let name = percent_encode(file.title());
    let disposition = format!("{}; filename*=UTF-8''{name}", if is_drawn { "inline" } else { "attachment" });
    let disposition = HeaderValue::from_str(&disposition).unwrap_or(HeaderValue::from_static("attachment"));
    let headers = [
        (header::CONTENT_LENGTH, HeaderValue::from(bytes.len())),
        (header::CONTENT_TYPE, kind),
        (header::CONTENT_DISPOSITION, disposition),
        (header::CACHE_CONTROL, HeaderValue::from_static("private, max-age=3600")),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(FILE_POLICY)),
    ];
    // In chunks, so that the permit is held until the client has taken most of the file.
    let pieces = stream::unfold((Bytes::from(bytes), permit), |(mut rest, permit)| async move {
        let piece = rest.split_to(rest.len().min(CHUNK_BYTES));
        (!piece.is_empty()).then_some((Ok::<_, Infallible>(piece), (rest, permit)))
    });
    (headers, Body::from_stream(pieces)).into_response()
}

/// Percent-encodes a file name for a header (RFC 5987).
fn percent_encode(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._".contains(&byte) {
            text.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

/// Deletes an uploaded file that was not sent with a message (`DELETE /v1/files/{id}`). A sent file is deleted with
/// its message.
async fn delete_file(
    State(files): State<FileService>,
    caller: SignedIn,
    Named(id): Named,
) -> Result<NoContent, ApiError> {
    let not_found = || ApiError::NotFound("file");
    let id: FileId = id.parse().map_err(|_| not_found())?;
    let (home, _) = files.find(caller.user, id).await?.ok_or_else(not_found)?;
    if !home.files().delete_unsent(caller.user, id).await? {
        let message = "the file was sent with a message, and goes with it".to_owned();
        return Err(ApiError::Conflict { code: "file_sent", message });
    }
    Ok(NoContent)
}
