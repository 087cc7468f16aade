//! The wires: what carries JSON-RPC messages to a server and back.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::RequestId;
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

use crate::Error;

pub(crate) mod answer;
mod events;
pub(crate) mod gate;
pub(crate) mod http;
pub(crate) mod kept;
pub(crate) mod sse;
pub(crate) mod websocket;

type Outgoing = TxJsonRpcMessage<RoleClient>;
type Incoming = RxJsonRpcMessage<RoleClient>;

/// How a connection is carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// One HTTP POST per message, since 2025-03-26.
    StreamableHttp,
    /// An event stream for answers and a POST address for messages, 2024-11-05.
    Sse,
    /// Not in any revision, but in use: subprotocol `mcp`, one message per frame.
    #[serde(rename = "websocket")]
    WebSocket,
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::StreamableHttp => "streamable HTTP",
            Self::Sse => "HTTP+SSE",
            Self::WebSocket => "WebSocket",
        })
    }
}

/// Oldest first, each with the request that it concerns; without one it concerns the whole wire.
type Reasons = VecDeque<(Option<RequestId>, Error)>;

/// So many reasons that nobody has asked for are kept; the oldest goes first.
const REASONS: usize = 64;

/// Why a wire ended, or the stream with the answer to one request. The protocol library only learns that it did; the
/// reason is left here for whoever was waiting.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fault {
    reasons: Arc<Mutex<Reasons>>,
    request: Option<RequestId>,
    doubt: Arc<Notify>,
}

impl Fault {
    /// The same, for the answer to one request: where answers have streams of their own, what broke one of them says
    /// nothing of the others.
    pub(crate) fn of(&self, request: &RequestId) -> Self {
        Self { request: Some(request.clone()), ..self.clone() }
    }

    /// The wire has not ended, but the server may be gone: the stream on which it speaks cannot be had again.
    fn doubt(&self) {
        self.doubt.notify_one();
    }

    /// Waits for such a doubt.
    pub(crate) async fn doubted(&self) {
        self.doubt.notified().await;
    }

    fn set(&self, error: Error) {
        let mut reasons = self.reasons.lock().unwrap_or_else(PoisonError::into_inner);
        // The first one is the cause of the others.
        if reasons.iter().all(|(request, _)| *request != self.request) {
            reasons.push_back((self.request.clone(), error));
        }
        if reasons.len() > REASONS {
            reasons.pop_front();
        }
    }

    /// The reason, if one was left: that of the request, else that of the wire. Once.
    pub(crate) fn take(&self) -> Option<Error> {
        let mut reasons = self.reasons.lock().unwrap_or_else(PoisonError::into_inner);
        let own = reasons.iter().position(|(request, _)| *request == self.request);
        let place = own.or_else(|| reasons.iter().position(|(request, _)| request.is_none()))?;
        reasons.remove(place).map(|(_, error)| error)
    }
}

/// Reads one message of a wire that carries nothing but messages.
fn parse(text: &str) -> Result<Incoming, Error> {
    serde_json::from_str(text)
        .map_err(|_| Error::Protocol("it sent something that is not a JSON-RPC message".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_broke_one_answer_is_not_said_of_another() {
        let wire = Fault::default();
        let [first, second] = [1, 2].map(|id| wire.of(&RequestId::Number(id)));
        first.set(Error::TooLarge(1));
        first.set(Error::Closed);
        assert!(second.take().is_none() && wire.take().is_none());
        assert!(matches!(first.take(), Some(Error::TooLarge(1))));
        assert!(first.take().is_none());
        wire.set(Error::Version);
        assert!(matches!(second.take(), Some(Error::Version)), "the end of the wire is the end of every answer");
    }

    #[test]
    fn reasons_that_nobody_asks_for_are_bounded() {
        let wire = Fault::default();
        for id in 0..1000 {
            wire.of(&RequestId::Number(id)).set(Error::Closed);
        }
        assert_eq!(wire.reasons.lock().unwrap_or_else(PoisonError::into_inner).len(), REASONS);
        assert!(wire.of(&RequestId::Number(0)).take().is_none());
        assert!(wire.of(&RequestId::Number(999)).take().is_some());
    }
}
