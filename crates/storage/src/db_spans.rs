//! Spans of work of the database: of each statement outside a transaction, and of each transaction.

use domain::SPAN_TARGET;
use tracing::instrument::Instrumented;
use tracing::{Instrument, Span};

pub(crate) const SQLITE: &str = "sqlite";
pub(crate) const POSTGRESQL: &str = "postgresql";

/// Runs `work` in a span, if it is part of a request or of a turn. Work in the background, such as the journal of all turns
/// or the heartbeat, would otherwise be a trace of its own several times a second.
///
/// `name` is the module with the work, and `read`, `write` or `transaction`. The span contains no statement and no value.
pub(crate) fn in_span<F>(system: &'static str, name: &'static str, work: F) -> Instrumented<F> {
    let span = if Span::current().is_none() {
        Span::none()
    } else {
        tracing::info_span!(target: SPAN_TARGET, "database", otel.name = name, otel.kind = "client", db.system.name = system)
    };
    work.instrument(span)
}
