//! Traces: what marks the spans that are exported.

/// Target of every span of this program. [`tracing`](https://docs.rs/tracing) passes spans with this target to the
/// exporter, if there is one, and creates no others.
pub const SPAN_TARGET: &str = "ai_chat_mcp::spans";
