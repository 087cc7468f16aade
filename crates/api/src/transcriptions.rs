//! `/api/transcriptions`: speech that a user dictates becomes text. Recordings are not stored.

use std::sync::Arc;

use agent::models::transcription::{AudioFormat, Recording};
use agent::models::{ModelService, advise};
use axum::Json;
use axum::body::Body;
use axum::extract::{FromRequest, Request, State};
use domain::model::ModelError;
use http_server::body::read_bytes;
use http_server::error::ApiError;
use http_server::extract::Query;
use http_server::openapi::{Operation, OperationInput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::limiters::TranscriptionLimiter;
use crate::signed_in::SignedIn;
use crate::usage::quota_error;

/// Maximum size of a recording, in bytes: OpenAI's limit. At the web app's bit rate it is more than an hour.
const MAX_RECORDING_BYTES: usize = 25 * 1_000_000;

/// Query parameters of a transcription.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct TranscriptionQuery {
    /// Language that is spoken, as an ISO 639 code; the model detects it if left out.
    #[serde(default)]
    #[schemars(regex(pattern = r"^[a-z]{2,3}$"))]
    language: Option<String>,
}

/// Text of a recording.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Transcription {
    /// Text; empty if nothing was said.
    text: String,
}

/// The recording, which the handler reads after its own checks.
#[derive(Debug)]
pub struct RecordingBody(Body);

impl<S: Sync> FromRequest<S> for RecordingBody {
    type Rejection = std::convert::Infallible;

    async fn from_request(request: Request, _state: &S) -> Result<Self, Self::Rejection> {
        Ok(Self(request.into_body()))
    }
}

impl OperationInput for RecordingBody {
    fn describe(operation: &mut Operation<'_>) {
        operation.set_body("audio/webm", json!({ "type": "string", "format": "binary" }));
    }
}

/// Transcribes a recording (`POST /api/transcriptions?language=`). The type is detected from the content.
pub async fn transcribe(
    State(transcriptions): State<TranscriptionLimiter>,
    State(models): State<Arc<ModelService>>,
    caller: SignedIn,
    Query(TranscriptionQuery { language }): Query<TranscriptionQuery>,
    RecordingBody(body): RecordingBody,
) -> Result<Json<Transcription>, ApiError> {
    let is_code = |code: &String| (2..=3).contains(&code.len()) && code.bytes().all(|byte| byte.is_ascii_lowercase());
    if language.as_ref().is_some_and(|language| !is_code(language)) {
        return Err(ApiError::BadRequest("language must be a code of two or three letters".to_owned()));
    }
    // A whole recording is held in memory, so the number of simultaneous ones is limited.
    let _permit = transcriptions.acquire(caller.user)?;
    let too_large = || ApiError::TooLargeFor {
        code: "recording_too_large",
        message: format!("The recording is larger than {} MB.", MAX_RECORDING_BYTES / 1_000_000),
    };
    let bytes = read_bytes(body, MAX_RECORDING_BYTES).await.map_err(|error| error.into_api_error(too_large))?;
    if bytes.is_empty() {
        return Err(ApiError::BadRequest("the recording is empty".to_owned()));
    }
    let format = AudioFormat::of(&bytes)
        .ok_or_else(|| ApiError::UnsupportedKind("The recording must be WebM, Ogg, MP4 or WAV.".to_owned()))?;
    let model = models.transcription_model(caller.user).await.ok_or_else(|| ApiError::Unprocessable {
        code: "no_transcription_model",
        message: "No model provider transcribes speech. Type your message instead.".to_owned(),
    })?;
    let recording = Recording { format, bytes, language };
    let text = models.transcribe(caller.user, &model, &recording).await.map_err(|error| {
        let message = advise(&error, &model.provider);
        match error {
            ModelError::QuotaExceeded(exceeded) => quota_error(&exceeded, message),
            _ => ApiError::Upstream { code: "transcription_failed", message },
        }
    })?;
    Ok(Json(Transcription { text }))
}
