//! Transports: carry JSON-RPC messages to a server and back.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::{JsonRpcMessage, RequestId};
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

use crate::Error;

mod admission;
pub(crate) mod capability_shim;
pub(crate) mod http_response;
pub(crate) mod http_sse;
pub(crate) mod rate_gate;
mod sse_events;
pub(crate) mod streamable_http;
pub(crate) mod websocket;

type Outgoing = TxJsonRpcMessage<RoleClient>;
type Incoming = RxJsonRpcMessage<RoleClient>;

/// Transport of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TransportKind {
    /// Streamable HTTP, since 2025-03-26: one POST per message.
    StreamableHttp,
    /// HTTP+SSE, 2024-11-05: an event stream for the server's messages and a POST address for the client's.
    Sse,
    /// WebSocket with subprotocol `mcp`, one message per frame. In no revision, but in use.
    #[serde(rename = "websocket")]
    WebSocket,
}

impl fmt::Display for TransportKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::StreamableHttp => "streamable HTTP",
            Self::Sse => "HTTP+SSE",
            Self::WebSocket => "WebSocket",
        })
    }
}

/// Errors, oldest first, each with the request that it concerns; `None` for the whole transport.
type ErrorQueue = VecDeque<(Option<RequestId>, Error)>;

/// Maximum number of errors that were not taken; the oldest is dropped.
const MAX_PENDING_ERRORS: usize = 64;

/// Slot for the error that ended a transport, or the response stream of one request.
///
/// The protocol library learns only that a stream ended. The transport leaves the reason here, where the request that
/// fails takes it. Clones share the slot.
#[derive(Debug, Clone, Default)]
pub(crate) struct TransportErrorSlot {
    errors: Arc<Mutex<ErrorQueue>>,
    /// Request that this handle stores and takes errors of; `None` for the whole transport.
    request: Option<RequestId>,
    doubt: Arc<Notify>,
}

impl TransportErrorSlot {
    /// Returns the slot of one request. Where responses have streams of their own, the error of one says nothing about
    /// the others.
    pub(crate) fn for_request(&self, request: &RequestId) -> Self {
        Self { request: Some(request.clone()), ..self.clone() }
    }

    /// Signals that the server may be gone although the transport has not ended: its event stream cannot be restored.
    fn signal_doubt(&self) {
        // `notify_one` stores a permit, so a doubt is not lost if nobody waits at this moment.
        self.doubt.notify_one();
    }

    /// Waits until the transport doubts that the server is there.
    pub(crate) async fn doubted(&self) {
        self.doubt.notified().await;
    }

    /// Stores an error, unless there is an earlier one.
    fn set(&self, error: Error) {
        let mut errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        // The first error is the cause of those that follow.
        if errors.iter().all(|(request, _)| *request != self.request) {
            errors.push_back((self.request.clone(), error));
        }
        if errors.len() > MAX_PENDING_ERRORS {
            errors.pop_front();
        }
    }

    /// Takes the error of the request, else that of the transport.
    pub(crate) fn take(&self) -> Option<Error> {
        let mut errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        let own = errors.iter().position(|(request, _)| *request == self.request);
        let index = own.or_else(|| errors.iter().position(|(request, _)| request.is_none()))?;
        errors.remove(index).map(|(_, error)| error)
    }
}

/// Returns whether a message is the reply to a request of the server. The protocol library sends it once.
fn is_reply(message: &Outgoing) -> bool {
    matches!(message, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_))
}

/// Parses one message.
fn parse_message(text: &str) -> Result<Incoming, Error> {
    serde_json::from_str(text)
        .map_err(|_| Error::Protocol("it sent something that is not a JSON-RPC message".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_errors_of_requests_apart() {
        let transport = TransportErrorSlot::default();
        let [first, second] = [1, 2].map(|id| transport.for_request(&RequestId::Number(id)));
        first.set(Error::TooLarge(1));
        first.set(Error::Closed);
        assert!(second.take().is_none() && transport.take().is_none());
        assert!(matches!(first.take(), Some(Error::TooLarge(1))));
        assert!(first.take().is_none());
        transport.set(Error::Version);
        assert!(matches!(second.take(), Some(Error::Version)), "the end of the transport is the end of every answer");
    }

    #[test]
    fn bounds_errors_that_are_not_taken() {
        let transport = TransportErrorSlot::default();
        for id in 0..1000 {
            transport.for_request(&RequestId::Number(id)).set(Error::Closed);
        }
        assert_eq!(transport.errors.lock().unwrap_or_else(PoisonError::into_inner).len(), MAX_PENDING_ERRORS);
        assert!(transport.for_request(&RequestId::Number(0)).take().is_none());
        assert!(transport.for_request(&RequestId::Number(999)).take().is_some());
    }
}
