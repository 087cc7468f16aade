//! The wires: what carries JSON-RPC messages to a server and back.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

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

/// Why a wire ended. The protocol library only learns that it did; the reason is left here for whoever was waiting.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fault {
    reason: Arc<Mutex<Option<Error>>>,
    doubt: Arc<Notify>,
}

impl Fault {
    /// The wire has not ended, but the server may be gone: the stream on which it speaks cannot be had again.
    fn doubt(&self) {
        self.doubt.notify_one();
    }

    /// Waits for such a doubt.
    pub(crate) async fn doubted(&self) {
        self.doubt.notified().await;
    }

    fn set(&self, error: Error) {
        self.reason.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    /// The reason, if one was left. Once.
    pub(crate) fn take(&self) -> Option<Error> {
        self.reason.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Reads one message of a wire that carries nothing but messages.
fn parse(text: &str) -> Result<Incoming, Error> {
    serde_json::from_str(text)
        .map_err(|_| Error::Protocol("it sent something that is not a JSON-RPC message".to_owned()))
}
