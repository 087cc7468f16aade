//! Logging to standard error, and the shutdown signals of the operating system.

use std::io::{IsTerminal, Stderr};

use domain::SPAN_TARGET;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::FmtContext;
use tracing_subscriber::fmt::format::{DefaultFields, Format, FormatEvent, FormatFields, Writer};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, Registry, fmt};

use crate::traces::{TraceExporter, current_ids};

/// Starts logging to standard error: readable lines on a terminal, JSON otherwise. With an exporter of traces, spans are
/// created and exported, and log lines contain the ids of their trace and span.
///
/// `filter` has the syntax of `RUST_LOG`; an invalid one logs warnings only. Several apps in one process share the
/// logging of the first.
pub fn start(filter: &str, traces: Option<&TraceExporter>) {
    // A typo in `RUST_LOG` must not keep the server from starting.
    let filter = EnvFilter::try_new(filter).unwrap_or_else(|_| EnvFilter::new("warn"));
    // Whatever else is logged: spans are for the exporter alone, and cost something.
    let filter = match format!("{SPAN_TARGET}=off").parse() {
        Ok(no_spans) => filter.add_directive(no_spans),
        Err(_) => filter,
    };
    let is_terminal = std::io::stderr().is_terminal();
    let started = match (traces, is_terminal) {
        (None, true) => Registry::default().with(to_stderr()).with(filter).try_init(),
        (None, false) => Registry::default().with(to_stderr().json()).with(filter).try_init(),
        (Some(traces), true) => {
            let lines = to_stderr().map_event_format(|inner| WithTraceIds { inner, append: append_text });
            Registry::default().with(traces.layer()).with(lines.with_filter(filter)).try_init()
        }
        (Some(traces), false) => {
            let lines = to_stderr().json().map_event_format(|inner| WithTraceIds { inner, append: append_json });
            Registry::default().with(traces.layer()).with(lines.with_filter(filter)).try_init()
        }
    };
    if started.is_err() {
        tracing::debug!("logging is already set up");
    }
}

fn to_stderr<S>() -> fmt::Layer<S, DefaultFields, Format, fn() -> Stderr> {
    fmt::layer().with_writer(std::io::stderr as fn() -> Stderr)
}

/// A format of log lines, followed by the ids of the current trace and span.
struct WithTraceIds<F> {
    inner: F,
    /// Returns the line, which ends with a line break, with the ids added.
    append: fn(&str, &str, &str) -> String,
}

impl<S, N, F> FormatEvent<S, N> for WithTraceIds<F>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
    N: for<'writer> FormatFields<'writer> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> std::fmt::Result {
        let Some((trace_id, span_id)) = current_ids() else {
            return self.inner.format_event(context, writer, event);
        };
        let mut line = String::new();
        self.inner.format_event(context, Writer::new(&mut line), event)?;
        writer.write_str(&(self.append)(&line, &trace_id, &span_id))
    }
}

fn append_text(line: &str, trace_id: &str, span_id: &str) -> String {
    format!("{} trace_id={trace_id} span_id={span_id}\n", line.trim_end())
}

/// Adds the ids to a JSON object. They are hexadecimal, so that nothing has to be escaped.
fn append_json(line: &str, trace_id: &str, span_id: &str) -> String {
    match line.trim_end().strip_suffix('}') {
        Some(start) => format!("{start},\"trace_id\":\"{trace_id}\",\"span_id\":\"{span_id}\"}}\n"),
        None => line.to_owned(),
    }
}

/// Returns a future that waits until the operating system asks the process to stop (SIGINT or SIGTERM). From the call on,
/// these signals no longer end the process by themselves.
///
/// # Panics
///
/// Outside of a Tokio runtime.
pub fn shutdown_signal() -> impl Future<Output = ()> + Send {
    let signals = [SignalKind::interrupt(), SignalKind::terminate()].map(signal);
    async move {
        let [mut interrupt, mut terminate] = signals;
        // A signal without a handler ends the process at once.
        let receive = async |signal: &mut std::io::Result<Signal>| match signal {
            Ok(signal) => drop(signal.recv().await),
            Err(_) => std::future::pending().await,
        };
        tokio::select! {
            () = receive(&mut interrupt) => {}
            () = receive(&mut terminate) => {}
        }
        tracing::info!("stopping");
    }
}
