//! Translation of the protocol library's errors into [`Error`].

use rmcp::model::ErrorCode;
use rmcp::service::{ClientInitializeError, ServiceError};
use rmcp::transport::DynamicTransportError;
use rmcp::transport::streamable_http_client::StreamableHttpError;

use crate::Error;
use crate::transport::{TransportErrorSlot, streamable_http};

/// Translates the error of a failed handshake or discovery.
pub(crate) fn explain_handshake_error(error: &ClientInitializeError, transport_errors: &TransportErrorSlot) -> Error {
    match error {
        ClientInitializeError::TransportError { error, .. } => explain_send_error(error, transport_errors),
        ClientInitializeError::JsonRpcError(error) => Error::server(error.code.0, &error.message),
        ClientInitializeError::NoCompatibleProtocolVersion { .. } => Error::Version,
        // The failed discovery only shows that the server is not modern; the error of `initialize` says what is wrong.
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => {
            explain_handshake_error(fallback, transport_errors)
        }
        ClientInitializeError::ConnectionClosed(_) => transport_errors.take().unwrap_or(Error::Closed),
        ClientInitializeError::ConflictInitResponseId(..) | ClientInitializeError::UncorrelatedErrorResponse { .. } => {
            Error::Protocol("it answered a request that was not made".to_owned())
        }
        ClientInitializeError::Cancelled => Error::Cancelled,
        _ => Error::Protocol("it answered the handshake with something else".to_owned()),
    }
}

/// Translates the error of a request that failed after the handshake.
pub(crate) fn explain_request_error(error: &ServiceError, transport_errors: &TransportErrorSlot) -> Error {
    match error {
        // The library reports a lost answer as an error of the server.
        ServiceError::McpError(error) if error.code == ErrorCode::INTERNAL_ERROR && is_lost_answer(&error.message) => {
            transport_errors.take().unwrap_or(Error::Closed)
        }
        ServiceError::McpError(error) => Error::server(error.code.0, &error.message),
        ServiceError::TransportSend(error) => explain_send_error(error, transport_errors),
        ServiceError::Cancelled { .. } => Error::Cancelled,
        ServiceError::UnexpectedResponse => Error::Protocol("it answered with something else".to_owned()),
        _ => transport_errors.take().unwrap_or(Error::Closed),
    }
}

/// Translates the error of a message that could not be sent.
fn explain_send_error(error: &DynamicTransportError, transport_errors: &TransportErrorSlot) -> Error {
    if let Some(error) = error.error.downcast_ref::<Error>() {
        return error.clone();
    }
    match error.error.downcast_ref::<StreamableHttpError<Error>>().map(streamable_http::explain_error) {
        Some(Error::Closed) | None => transport_errors.take().unwrap_or(Error::Closed),
        Some(error) => error,
    }
}

/// Recognizes the library's own messages for a response stream that ended without a response.
fn is_lost_answer(message: &str) -> bool {
    message.starts_with("streamable HTTP response stream closed")
        || message.starts_with("streamable HTTP session was re-initialized")
}
