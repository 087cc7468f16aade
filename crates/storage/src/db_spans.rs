//! Spans of work of the database: of each statement outside a transaction, and of each transaction.

use domain::SPAN_TARGET;
use tracing::instrument::Instrumented;
use tracing::{Instrument, Span};

pub(crate) const SQLITE: &str = "sqlite";
pub(crate) const POSTGRESQL: &str = "postgresql";

/// Creates a span of work that is part of a request or of a turn. Work in the background, such as the journal of all turns
/// or the heartbeat, has none: it would be a trace of its own several times a second.
///
/// `name` is the module with the work, and `read`, `write` or `transaction`. The span contains no statement and no value.
pub(crate) fn create_span(system: &'static str, name: &'static str) -> Span {
    if Span::current().is_none() {
        Span::none()
    } else {
        tracing::info_span!(target: SPAN_TARGET, "database", otel.name = name, otel.kind = "client", db.system.name = system)
    }
}

/// Runs `work` in a [span](create_span).
pub(crate) fn in_span<F>(system: &'static str, name: &'static str, work: F) -> Instrumented<F> {
    work.instrument(create_span(system, name))
}
