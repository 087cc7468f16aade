//! Limits on the time and the data that one server may take.

use std::time::Duration;

/// Limits of a connection. The defaults suit a chat: a user waits for the connection, and a model reads the tools.
#[derive(Debug, Clone, Copy)]
pub struct ConnectionLimits {
    /// Time for connecting, over all transports that are tried.
    pub connect_timeout: Duration,
    /// Time for one request, such as a page of the tool list. Tool calls have limits of their own.
    pub request_timeout: Duration,
    /// Time for the whole tool list.
    pub list_timeout: Duration,
    /// Size of one message. Images come in messages, so this is far above any text.
    pub message_bytes: usize,
    /// Size of the whole tool list, as JSON.
    pub tool_list_bytes: usize,
    /// Number of tools of one server.
    pub tool_count: usize,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(15),
            request_timeout: Duration::from_secs(30),
            list_timeout: Duration::from_mins(1),
            message_bytes: 16 * 1024 * 1024,
            tool_list_bytes: 16 * 1024 * 1024,
            tool_count: 20_000,
        }
    }
}
