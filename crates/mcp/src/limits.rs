//! How long and how much a server may take.

use std::time::Duration;

/// The bounds on one server. The defaults suit a chat: a person waits for the connection, and a model reads the tools.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// From the first byte to a finished handshake, all transports tried.
    pub connect: Duration,
    /// For one page of the tool list.
    pub page: Duration,
    /// For all pages of it.
    pub list: Duration,
    /// For one message of the server, in bytes. Images come in messages, so this is far above any text.
    pub message_bytes: usize,
    /// For a whole tool list, counted as JSON.
    pub tools_bytes: usize,
    /// For the number of tools of one server.
    pub tools: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(15),
            page: Duration::from_secs(30),
            list: Duration::from_mins(1),
            message_bytes: 16 * 1024 * 1024,
            tools_bytes: 16 * 1024 * 1024,
            tools: 20_000,
        }
    }
}
