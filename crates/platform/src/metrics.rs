//! Metrics of the process, for Prometheus. Each metric is named here and listed in `docs/guide/monitoring.md`.
//!
//! Services record through the functions of this module. Nothing is kept unless a [recorder](MetricsRecorder) was
//! installed, which happens with `CHAT_ADMIN_LISTEN`.

use std::collections::HashSet;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use domain::tool::Outcome;
use metrics::{Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};
use metrics_process::Collector;
use tokio_util::sync::CancellationToken;

const BUILD_INFO: &str = "ai_chat_mcp_build_info";
const CONNECTIONS: &str = "ai_chat_mcp_connections";
const DATABASE_CONNECTIONS: &str = "ai_chat_mcp_database_connections";
const DATABASE_PING_SECONDS: &str = "ai_chat_mcp_database_ping_seconds";
const BUILT_IN_QUEUE: &str = "ai_chat_mcp_built_in_queue";
const DATABASE_UP: &str = "ai_chat_mcp_database_up";
const HTTP_REQUESTS: &str = "ai_chat_mcp_http_requests_total";
const HTTP_REQUEST_SECONDS: &str = "ai_chat_mcp_http_request_seconds";
const JOURNAL_BYTES: &str = "ai_chat_mcp_journal_buffered_bytes";
const JOURNAL_DELAY_SECONDS: &str = "ai_chat_mcp_journal_delay_seconds";
const MODEL_CALLS: &str = "ai_chat_mcp_model_calls_total";
const MODEL_CALL_SECONDS: &str = "ai_chat_mcp_model_call_seconds";
const MODEL_FIRST_TOKEN_SECONDS: &str = "ai_chat_mcp_model_first_token_seconds";
const MODEL_TOKENS: &str = "ai_chat_mcp_model_tokens_total";
const STREAMS: &str = "ai_chat_mcp_streams";
const TOOL_CALLS: &str = "ai_chat_mcp_tool_calls_total";
const TOOL_CALL_SECONDS: &str = "ai_chat_mcp_tool_call_seconds";
const TURNS: &str = "ai_chat_mcp_turns_total";
const TURNS_RUNNING: &str = "ai_chat_mcp_turns_running";
const TURN_SECONDS: &str = "ai_chat_mcp_turn_seconds";

/// Upper bounds of the buckets of all durations, in seconds: from a fast database statement to a turn that waits for
/// its user.
const SECONDS_BUCKETS: [f64; 16] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0];
/// Maximum number of different values of a label that users choose. Each is a time series of its own.
const MAX_LABEL_VALUES: usize = 200;
/// Value of such a label for everything else.
const OTHER: &str = "other";
/// Interval at which recorded durations are sorted into their buckets. They take memory until then.
const UPKEEP_INTERVAL: Duration = Duration::from_secs(5);

/// Kind of a metric, as Prometheus knows them.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Counter,
    Gauge,
    Histogram,
}

/// All metrics with their descriptions.
const METRICS: [(Kind, &str, Unit, &str); 20] = [
    (Kind::Gauge, BUILD_INFO, Unit::Count, "Version of the program, with its commit; always 1."),
    (Kind::Gauge, CONNECTIONS, Unit::Count, "Connections to MCP servers, by state."),
    (Kind::Gauge, DATABASE_CONNECTIONS, Unit::Count, "Connections to the database, by state."),
    (Kind::Gauge, DATABASE_PING_SECONDS, Unit::Seconds, "Duration of the last write to the database as a check."),
    (Kind::Gauge, BUILT_IN_QUEUE, Unit::Count, "Requests that wait while the built-in model answers another one."),
    (Kind::Gauge, DATABASE_UP, Unit::Count, "Whether the database can be written: 1 or 0."),
    (Kind::Counter, HTTP_REQUESTS, Unit::Count, "HTTP requests, by method, route and status."),
    (Kind::Histogram, HTTP_REQUEST_SECONDS, Unit::Seconds, "Time to the headers of a response, by method and route."),
    (Kind::Gauge, JOURNAL_BYTES, Unit::Bytes, "Events of turns that wait to be written to the database."),
    (Kind::Histogram, JOURNAL_DELAY_SECONDS, Unit::Seconds, "Time from an event of a turn until it is stored."),
    (Kind::Counter, MODEL_CALLS, Unit::Count, "Calls of models that have ended, by model and outcome."),
    (Kind::Histogram, MODEL_CALL_SECONDS, Unit::Seconds, "Duration of calls of models, by model."),
    (Kind::Histogram, MODEL_FIRST_TOKEN_SECONDS, Unit::Seconds, "Time to the first output of a model, by model."),
    (Kind::Counter, MODEL_TOKENS, Unit::Count, "Tokens of calls of models, by model and direction."),
    (Kind::Gauge, STREAMS, Unit::Count, "Open event streams of users' pages."),
    (Kind::Counter, TOOL_CALLS, Unit::Count, "Tool calls that have ended, by origin of the server and outcome."),
    (Kind::Histogram, TOOL_CALL_SECONDS, Unit::Seconds, "Duration of tool calls, by origin of the server."),
    (Kind::Counter, TURNS, Unit::Count, "Turns that have ended on this node, by outcome."),
    (Kind::Gauge, TURNS_RUNNING, Unit::Count, "Turns in progress on this node, those that wait for their user too."),
    (Kind::Histogram, TURN_SECONDS, Unit::Seconds, "Duration of turns, with the time that they waited for their user."),
];

/// The recorder of this process.
static RECORDER: OnceLock<MetricsRecorder> = OnceLock::new();
/// Origins of MCP servers that have a time series.
static ORIGINS: LabelValues = LabelValues(Mutex::new(None));
/// Models that have a time series: a provider may accept any name.
static MODELS: LabelValues = LabelValues(Mutex::new(None));

/// The reason why metrics cannot be recorded.
#[derive(Debug, thiserror::Error)]
pub enum MetricsError {
    /// The buckets are invalid.
    #[error(transparent)]
    Buckets(#[from] BuildError),
    /// Another library has installed a recorder.
    #[error("the metrics of this process are recorded elsewhere")]
    RecordedElsewhere,
}

/// Keeps what services record, and the process's own figures. There is one for each process.
#[derive(Debug, Clone)]
pub struct MetricsRecorder {
    prometheus: PrometheusHandle,
    process: Collector,
}

impl MetricsRecorder {
    /// Installs the recorder of this process, or returns the one that is installed.
    ///
    /// # Errors
    ///
    /// Another library has installed a recorder.
    pub fn install(version: &'static str) -> Result<Self, MetricsError> {
        if let Some(installed) = RECORDER.get() {
            return Ok(installed.clone());
        }
        let recorder = PrometheusBuilder::new()
            .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &SECONDS_BUCKETS)?
            .build_recorder();
        let installed = Self { prometheus: recorder.handle(), process: Collector::default() };
        metrics::set_global_recorder(recorder).map_err(|_| MetricsError::RecordedElsewhere)?;
        for (kind, name, unit, description) in METRICS {
            match kind {
                Kind::Counter => describe_counter!(name, unit, description),
                Kind::Gauge => describe_gauge!(name, unit, description),
                Kind::Histogram => describe_histogram!(name, unit, description),
            }
        }
        installed.process.describe();
        gauge!(BUILD_INFO, "version" => version).set(1.0);
        Ok(RECORDER.get_or_init(|| installed).clone())
    }

    /// Returns all metrics in the text format of Prometheus, version 0.0.4.
    pub fn render(&self) -> String {
        self.process.collect();
        self.prometheus.render()
    }

    /// Sorts recorded durations into their buckets at an interval, until shutdown. Without it, they would take memory
    /// until the next request for the metrics.
    pub async fn run_upkeep(self, shutdown: CancellationToken) {
        while shutdown.run_until_cancelled(tokio::time::sleep(UPKEEP_INTERVAL)).await.is_some() {
            self.prometheus.run_upkeep();
        }
    }
}

/// Records a response to an HTTP request. `route` is the pattern of the route, never a path.
pub fn record_http_request(method: &str, route: &str, status: u16, duration: Duration) {
    let (method, route) = (method.to_owned(), route.to_owned());
    counter!(HTTP_REQUESTS, "method" => method.clone(), "route" => route.clone(), "status" => status.to_string())
        .increment(1);
    histogram!(HTTP_REQUEST_SECONDS, "method" => method, "route" => route).record(duration);
}

/// Records the end of a turn. `outcome` is the status of its answer.
pub fn record_turn(outcome: &'static str, duration: Duration) {
    counter!(TURNS, "outcome" => outcome).increment(1);
    histogram!(TURN_SECONDS, "outcome" => outcome).record(duration);
}

/// Records the first output of a model.
pub fn record_first_token(model: &str, duration: Duration) {
    histogram!(MODEL_FIRST_TOKEN_SECONDS, "model" => MODELS.bound(model)).record(duration);
}

/// Records the end of a call of a model.
pub fn record_model_call(model: &str, outcome: ModelCallOutcome, duration: Duration) {
    counter!(MODEL_CALLS, "model" => MODELS.bound(model), "outcome" => outcome.as_str()).increment(1);
    histogram!(MODEL_CALL_SECONDS, "model" => MODELS.bound(model)).record(duration);
}

/// Records the tokens of a call of a model.
pub fn record_tokens(model: &str, input: u64, output: u64) {
    for (direction, tokens) in [("input", input), ("output", output)] {
        counter!(MODEL_TOKENS, "model" => MODELS.bound(model), "direction" => direction).increment(tokens);
    }
}

/// Outcome of a call of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelCallOutcome {
    /// The model ended its output.
    Done,
    /// The provider reported an error, or the output broke off.
    Failed,
    /// The output was no longer read, because the turn was stopped.
    Stopped,
}

impl ModelCallOutcome {
    fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Stopped => "stopped",
        }
    }
}

/// Records the end of a tool call. `origin` is that of the MCP server.
pub fn record_tool_call(origin: &str, outcome: Outcome, duration: Duration) {
    let origin = ORIGINS.bound(origin);
    counter!(TOOL_CALLS, "server" => origin.clone(), "outcome" => outcome.as_str()).increment(1);
    histogram!(TOOL_CALL_SECONDS, "server" => origin).record(duration);
}

/// The values of a label that users choose, at most [`MAX_LABEL_VALUES`].
struct LabelValues(Mutex<Option<HashSet<String>>>);

impl LabelValues {
    /// Returns the value, or [`OTHER`] if it is new and there are too many.
    fn bound(&self, value: &str) -> String {
        let mut values = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let values = values.get_or_insert_default();
        if !values.contains(value) {
            if values.len() >= MAX_LABEL_VALUES {
                return OTHER.to_owned();
            }
            values.insert(value.to_owned());
        }
        value.to_owned()
    }
}

/// Records how long the oldest event of a batch of the journal waited until it was stored.
pub fn record_journal_delay(delay: Duration) {
    histogram!(JOURNAL_DELAY_SECONDS).record(delay);
}

/// Current figures, which are read for each request for the metrics.
#[derive(Debug, Clone)]
pub struct CurrentFigures {
    /// Turns in progress.
    pub turns: usize,
    /// Open event streams.
    pub streams: usize,
    /// Bytes of events that are not stored yet.
    pub journal_bytes: usize,
    /// Requests that wait while the built-in model answers another one.
    pub built_in_queue: usize,
    /// Connections to MCP servers, by the name of their state.
    pub connections: Vec<(&'static str, usize)>,
    /// Connections to the database that are in use.
    pub database_in_use: usize,
    /// Connections to the database that wait for their next use.
    pub database_idle: usize,
    /// Duration of a write to the database; `None` if it failed.
    pub database_ping: Option<Duration>,
}

/// Records figures of this moment.
pub fn record_current(figures: &CurrentFigures) {
    // Exact up to 2^53.
    let set = |name: &'static str, value: usize| gauge!(name).set(value as f64);
    set(TURNS_RUNNING, figures.turns);
    set(STREAMS, figures.streams);
    set(JOURNAL_BYTES, figures.journal_bytes);
    set(BUILT_IN_QUEUE, figures.built_in_queue);
    for (state, number) in &figures.connections {
        gauge!(CONNECTIONS, "state" => *state).set(*number as f64);
    }
    gauge!(DATABASE_CONNECTIONS, "state" => "in_use").set(figures.database_in_use as f64);
    gauge!(DATABASE_CONNECTIONS, "state" => "idle").set(figures.database_idle as f64);
    gauge!(DATABASE_UP).set(if figures.database_ping.is_some() { 1.0 } else { 0.0 });
    if let Some(ping) = figures.database_ping {
        gauge!(DATABASE_PING_SECONDS).set(ping.as_secs_f64());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_every_metric() {
        let documented = include_str!("../../../docs/guide/monitoring.md");
        for (_, name, ..) in METRICS {
            assert!(documented.contains(&format!("`{name}`")), "{name} is not documented");
        }
        assert_names_exist(documented);
    }

    #[test]
    fn dashboard_uses_existing_metrics() {
        let dashboard = include_str!("../../../packaging/grafana-dashboard.json");
        assert!(assert_names_exist(dashboard) > 10);
    }

    /// Checks that every name in a text is that of a metric, and returns their number.
    fn assert_names_exist(text: &str) -> usize {
        let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        let names: HashSet<&str> = words.filter(|word| word.starts_with("ai_chat_mcp_")).collect();
        for name in &names {
            let series = ["_bucket", "_sum", "_count"].iter().find_map(|suffix| name.strip_suffix(suffix));
            let name = series.unwrap_or(name);
            assert!(METRICS.iter().any(|(_, metric, ..)| *metric == name), "{name} does not exist");
        }
        names.len()
    }

    #[test]
    fn bounds_values_that_users_choose() {
        let values = LabelValues(Mutex::default());
        let labels = (0..MAX_LABEL_VALUES + 10).map(|n| values.bound(&format!("https://{n}.example")));
        assert_eq!(labels.filter(|label| label == OTHER).count(), 10);
        assert_eq!(values.bound("https://0.example"), "https://0.example", "a known value keeps its series");
    }
}
