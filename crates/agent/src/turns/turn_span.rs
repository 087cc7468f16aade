//! The span of a turn on one node. It is the root of a trace of its own, because a turn outlives the request that began it
//! and may wait for its user for days. A link leads to that request.

use domain::SPAN_TARGET;
use domain::message::MessageStatus;
use tracing::Span;
use tracing::field::Empty;

use super::Turn;

/// Status of a turn that continues on another node or after a restart.
const DETACHED: &str = "detached";

/// Creates the span of a turn that begins here, or continues after a restart. It is linked with the current span, which is
/// that of the request.
pub(super) fn begin(turn: &Turn, is_resumed: bool) -> Span {
    let span = tracing::info_span!(
        target: SPAN_TARGET,
        parent: None,
        "invoke_agent",
        otel.status_code = Empty,
        gen_ai.operation.name = "invoke_agent",
        gen_ai.conversation.id = %turn.chat,
        user.id = %turn.owner,
        ai_chat_mcp.turn.id = %turn.id,
        ai_chat_mcp.turn.is_resumed = is_resumed,
        ai_chat_mcp.turn.status = Empty,
    );
    span.follows_from(Span::current());
    span
}

/// Takes note of the end of the turn in its span, which is the current one.
pub(super) fn record_end(status: MessageStatus) {
    let span = Span::current();
    span.record("ai_chat_mcp.turn.status", status.as_str());
    if status == MessageStatus::Failed {
        span.record("otel.status_code", "error");
    }
}

/// Takes note in the span of the turn, which is the current one, that the turn continues elsewhere or later.
pub(super) fn record_detached() {
    Span::current().record("ai_chat_mcp.turn.status", DETACHED);
}

/// Creates the span of a request for the title of a turn's chat, which is linked with the turn's span.
pub(super) fn of_title(turn: &Turn) -> Span {
    let span = tracing::info_span!(
        target: SPAN_TARGET,
        parent: None,
        "propose_title",
        gen_ai.conversation.id = %turn.chat,
        ai_chat_mcp.turn.id = %turn.id,
    );
    span.follows_from(Span::current());
    span
}
