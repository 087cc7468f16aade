//! Limits of concurrent work and of memory, per user and in total.

use std::num::NonZeroUsize;

use crate::Limit;

use super::{ConfigError, Source};

/// Bytes of one mebibyte.
pub(super) const MEBIBYTE: usize = 1024 * 1024;

/// Limits of one process.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// `CHAT_MAX_TURNS`, `CHAT_MAX_TURNS_PER_USER`: turns in progress.
    pub turns: Limit,
    /// `CHAT_MAX_STREAMS`, `CHAT_MAX_STREAMS_PER_USER`: open event streams, of turns and of user events.
    pub streams: Limit,
    /// `CHAT_MAX_CONNECTIONS`, `CHAT_MAX_CONNECTIONS_PER_USER`: open connections to MCP servers.
    pub connections: Limit,
    /// `CHAT_MAX_QUEUED_PER_USER`: queued messages in all chats of a user.
    pub queued_per_user: usize,
    /// `CHAT_MAX_SOCKETS`, `CHAT_MAX_SOCKETS_PER_ADDRESS`: open connections of clients; [`per_user`](Limit::per_user) is per
    /// network address.
    pub sockets: Limit,
    /// `CHAT_MAX_TURN_MIB`: size of one turn's event log, including tool results, in bytes.
    pub turn_bytes: usize,
    /// `CHAT_MAX_TURNS_MIB`: size of all event logs of turns in progress, in bytes. Above it, no turn begins.
    pub turns_bytes: usize,
    /// `CHAT_MAX_BODIES_MIB`, `CHAT_MAX_BODIES_MIB_PER_ADDRESS`: size of the request bodies that are being received,
    /// in bytes; [`per_user`](Limit::per_user) is per network address.
    pub bodies_bytes: Limit,
}

impl Limits {
    /// Reads the limits from the settings.
    pub(super) fn read(source: &mut Source) -> Result<Self, ConfigError> {
        let mut number = |name: &str, default: usize| {
            let given: Option<NonZeroUsize> = source.parse(name, "a number, at least 1")?;
            Ok::<_, ConfigError>(given.map_or(default, NonZeroUsize::get))
        };
        let sockets = number("CHAT_MAX_SOCKETS", 10_000)?;
        let bodies = number("CHAT_MAX_BODIES_MIB", 256)?;
        // 0 cannot be configured, so it means that the setting is absent.
        let bodies_each = match number("CHAT_MAX_BODIES_MIB_PER_ADDRESS", 0)? {
            0 => default_share(bodies.saturating_mul(MEBIBYTE)),
            mebibytes => mebibytes.saturating_mul(MEBIBYTE),
        };
        Ok(Self {
            turns: Limit { per_user: number("CHAT_MAX_TURNS_PER_USER", 8)?, total: number("CHAT_MAX_TURNS", 4_000)? },
            streams: Limit {
                per_user: number("CHAT_MAX_STREAMS_PER_USER", 64)?,
                total: number("CHAT_MAX_STREAMS", 8_000)?,
            },
            connections: Limit {
                per_user: number("CHAT_MAX_CONNECTIONS_PER_USER", 100)?,
                total: number("CHAT_MAX_CONNECTIONS", 4_000)?,
            },
            queued_per_user: number("CHAT_MAX_QUEUED_PER_USER", 200)?,
            sockets: Limit {
                per_user: number("CHAT_MAX_SOCKETS_PER_ADDRESS", default_share(sockets))?,
                total: sockets,
            },
            turn_bytes: number("CHAT_MAX_TURN_MIB", 32)?.saturating_mul(MEBIBYTE),
            turns_bytes: number("CHAT_MAX_TURNS_MIB", 1_024)?.saturating_mul(MEBIBYTE),
            bodies_bytes: Limit { per_user: bodies_each, total: bodies.saturating_mul(MEBIBYTE) },
        })
    }
}

/// Returns the default limit per network address: a third of the total. One address alone can then not starve the
/// others, and an import of the maximum size still fits into the share of [`Limits::bodies_bytes`].
fn default_share(all: usize) -> usize {
    (all / 3).max(1)
}
