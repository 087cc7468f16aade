//! How much of everything there may be at a time: for one person, and for everybody together.

use std::num::NonZeroUsize;

use super::{ConfigError, Source};

const MEBIBYTE: usize = 1024 * 1024;

/// The bounds of one process.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// `CHAT_MAX_RUNS`, `CHAT_MAX_RUNS_PER_USER`: answers that are being written.
    pub runs: Limit,
    /// `CHAT_MAX_STREAMS`, `CHAT_MAX_STREAMS_PER_USER`: open streams of answers and of news.
    pub streams: Limit,
    /// `CHAT_MAX_CONNECTIONS`, `CHAT_MAX_CONNECTIONS_PER_USER`: open connections to MCP servers.
    pub connections: Limit,
    /// `CHAT_MAX_QUEUED_PER_USER`: messages that wait for their turn, in all chats of a person.
    pub queued_per_user: usize,
    /// `CHAT_MAX_SOCKETS`, `CHAT_MAX_SOCKETS_PER_ADDRESS`: open connections of clients; `each` is for one network address.
    pub sockets: Limit,
    /// `CHAT_MAX_TURN_MIB`: bytes that one turn may say, with what its tools give back.
    pub turn_bytes: usize,
    /// `CHAT_MAX_TURNS_MIB`: bytes of all turns that go on. With more no turn begins.
    pub turns_bytes: usize,
    /// `CHAT_MAX_BODIES_MIB`, `CHAT_MAX_BODIES_MIB_PER_ADDRESS`: bytes of request bodies that are being received; `each` is
    /// for one network address.
    pub bodies_bytes: Limit,
    /// `CHAT_MAX_FILES_MIB_PER_USER`: bytes of the files that are kept for one person.
    pub files_bytes: usize,
}

/// A number for one user, or for one network address, and one for everybody.
#[derive(Debug, Clone, Copy)]
pub struct Limit {
    /// For one user or address.
    pub each: usize,
    /// For everybody together.
    pub all: usize,
}

impl Limits {
    pub(super) fn read(source: &mut Source) -> Result<Self, ConfigError> {
        let mut number = |name: &str, default: usize| {
            let given: Option<NonZeroUsize> = source.parse(name, "a number, at least 1")?;
            Ok::<_, ConfigError>(given.map_or(default, NonZeroUsize::get))
        };
        let sockets = number("CHAT_MAX_SOCKETS", 10_000)?;
        let bodies = number("CHAT_MAX_BODIES_MIB", 256)?;
        let bodies_each = match number("CHAT_MAX_BODIES_MIB_PER_ADDRESS", 0)? {
            0 => default_share(bodies.saturating_mul(MEBIBYTE)),
            mebibytes => mebibytes.saturating_mul(MEBIBYTE),
        };
        Ok(Self {
            runs: Limit { each: number("CHAT_MAX_RUNS_PER_USER", 8)?, all: number("CHAT_MAX_RUNS", 4_000)? },
            streams: Limit { each: number("CHAT_MAX_STREAMS_PER_USER", 64)?, all: number("CHAT_MAX_STREAMS", 8_000)? },
            connections: Limit {
                each: number("CHAT_MAX_CONNECTIONS_PER_USER", 100)?,
                all: number("CHAT_MAX_CONNECTIONS", 4_000)?,
            },
            queued_per_user: number("CHAT_MAX_QUEUED_PER_USER", 200)?,
            sockets: Limit { each: number("CHAT_MAX_SOCKETS_PER_ADDRESS", default_share(sockets))?, all: sockets },
            turn_bytes: number("CHAT_MAX_TURN_MIB", 32)?.saturating_mul(MEBIBYTE),
            turns_bytes: number("CHAT_MAX_TURNS_MIB", 1_024)?.saturating_mul(MEBIBYTE),
            bodies_bytes: Limit { each: bodies_each, all: bodies.saturating_mul(MEBIBYTE) },
            files_bytes: number("CHAT_MAX_FILES_MIB_PER_USER", 1_024)?.saturating_mul(MEBIBYTE),
        })
    }
}

/// Returns what one network address may have of a total when the settings do not say: a third. One address alone then never
/// starves the others, and an import of the largest size still fits into the share of [`Limits::bodies_bytes`].
fn default_share(all: usize) -> usize {
    (all / 3).max(1)
}
