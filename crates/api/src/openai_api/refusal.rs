//! Errors of the OpenAI-compatible API: `{error: {message, type, param, code}}`.

use agent::agent_loop::ToolExecutionError;
use agent::models::with_advice;
use agent::openai_api::{CompletionError, RequestLimitError};
use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use domain::json::to_json;
use domain::model::ModelError;
use http_server::error::ApiError;
use http_server::openapi::{Operation, OperationOutput};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// An error response.
#[derive(Debug)]
pub struct OpenAiError {
    status: StatusCode,
    code: &'static str,
    message: String,
    /// The field of the request that is wrong.
    param: Option<&'static str>,
    /// Seconds after which a retry can succeed.
    retry_after: Option<u64>,
}

impl OpenAiError {
    fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), param: None, retry_after: None }
    }

    /// Creates the error for an invalid field.
    pub fn bad(param: &'static str, message: impl Into<String>) -> Self {
        let refusal = Self::new(StatusCode::BAD_REQUEST, "invalid_value", message);
        Self { param: Some(param), ..refusal }
    }

    /// Creates the error for a key without the necessary scope.
    pub fn forbidden(message: &str) -> Self {
        Self::new(StatusCode::FORBIDDEN, "insufficient_permissions", message)
    }

    /// Creates the error for an unknown model.
    pub fn unknown_model(name: &str) -> Self {
        let message = format!("there is no model {name}; GET /v1/models lists them");
        Self { param: Some("model"), ..Self::new(StatusCode::NOT_FOUND, "model_not_found", message) }
    }

    /// Returns the code for API clients.
    pub fn code(&self) -> &'static str {
        self.code
    }

    /// Returns the message for users.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the error as a response body, or as an event of a stream that has begun.
    pub fn body(&self) -> Value {
        let r#type = match self.status.as_u16() {
            401 => "authentication_error",
            403 => "permission_error",
            429 => "rate_limit_error",
            500.. => "api_error",
            _ => "invalid_request_error",
        };
        let Self { code, param, .. } = *self;
        let error = OpenAiErrorDetails { message: self.message.clone(), r#type, param, code };
        to_json(&OpenAiErrorBody { error })
    }
}

/// The request was rejected, or it failed.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "OpenAiError")]
struct OpenAiErrorBody {
    error: OpenAiErrorDetails,
}

/// The cause of an error, as OpenAI describes it.
#[derive(Debug, Serialize, JsonSchema)]
struct OpenAiErrorDetails {
    message: String,
    r#type: &'static str,
    /// The field of the request that is wrong.
    param: Option<&'static str>,
    code: &'static str,
}

impl OperationOutput for OpenAiError {
    fn describe(operation: &mut Operation<'_>) {
        operation.set_error::<OpenAiErrorBody>();
    }
}

impl From<ApiError> for OpenAiError {
    fn from(error: ApiError) -> Self {
        error.log();
        let (code, message) = match &error {
            ApiError::Unauthorized => {
                ("invalid_api_key", "this key does not hold; make one in the settings of the app".to_owned())
            }
            other => (other.code(), other.to_string()),
        };
        // Keeps one place that decides about `Retry-After`: the header is read back from a response of the other API.
        let answer = error.decorate(StatusCode::OK.into_response());
        let retry_after = answer.headers().get(header::RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
        Self { retry_after, ..Self::new(error.status(), code, message) }
    }
}

impl From<RequestLimitError> for OpenAiError {
    fn from(refused: RequestLimitError) -> Self {
        let retry_after = match refused {
            RequestLimitError::RateExceeded { retry_after } => retry_after,
            RequestLimitError::TooManyAnswers => 1,
            RequestLimitError::Storage(error) => return ApiError::from(error).into(),
        };
        let refusal = Self::new(StatusCode::TOO_MANY_REQUESTS, "rate_limit_exceeded", refused.to_string());
        Self { retry_after: Some(retry_after), ..refusal }
    }
}

impl From<CompletionError> for OpenAiError {
    fn from(failure: CompletionError) -> Self {
        match failure {
            CompletionError::Model(error) => of_model(&error),
            CompletionError::Tools(error) => {
                let code = match &error {
                    ToolExecutionError::ApprovalNeeded { .. } => "tool_needs_approval",
                    ToolExecutionError::InputNeeded { .. } => "tool_needs_input",
                };
                Self::new(StatusCode::FORBIDDEN, code, error.to_string())
            }
            CompletionError::TooManySteps => Self::new(StatusCode::BAD_GATEWAY, "too_many_rounds", failure.to_string()),
            CompletionError::Stopping => Self {
                retry_after: Some(1),
                ..Self::new(StatusCode::SERVICE_UNAVAILABLE, "server_restarting", failure.to_string())
            },
            CompletionError::Revoked => Self::new(StatusCode::UNAUTHORIZED, "invalid_api_key", failure.to_string()),
            CompletionError::Internal(error) => ApiError::from(error).into(),
        }
    }
}

/// Converts an error of a model. Rejected credentials or unpaid bills at the provider are errors of this server for
/// its caller, so they become 502.
fn of_model(error: &ModelError) -> OpenAiError {
    let (status, code) = match error {
        ModelError::RateLimited { .. } => (StatusCode::TOO_MANY_REQUESTS, "rate_limit_exceeded"),
        ModelError::QuotaExceeded(exceeded) => (StatusCode::TOO_MANY_REQUESTS, exceeded.code()),
        ModelError::UnknownModel(_) => (StatusCode::NOT_FOUND, "model_not_found"),
        ModelError::ContextOverflow(_) => (StatusCode::BAD_REQUEST, "context_length_exceeded"),
        ModelError::Refused(_) => (StatusCode::BAD_REQUEST, "model_refused"),
        ModelError::Unavailable(_) => (StatusCode::SERVICE_UNAVAILABLE, "model_unavailable"),
        _ => (StatusCode::BAD_GATEWAY, "model_failed"),
    };
    let retry_after = match error {
        ModelError::RateLimited { retry_after, .. } => Some(retry_after.map_or(1, |wait| wait.as_secs().max(1))),
        ModelError::QuotaExceeded(exceeded) => Some(exceeded.retry_after_seconds()),
        _ => None,
    };
    OpenAiError { retry_after, ..OpenAiError::new(status, code, with_advice(error)) }
}

impl IntoResponse for OpenAiError {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.body())).into_response();
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}
