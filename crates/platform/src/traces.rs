//! Traces: the spans of requests, turns and calls, exported over OTLP in the background. `docs/guide/monitoring.md` lists
//! the spans.
//!
//! Services create spans with the macros of [`tracing`] and the target [`SPAN_TARGET`]. Without a [`TraceExporter`] no
//! span is created: each macro costs the look-up of a flag.

use std::collections::HashMap;
use std::fmt;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use domain::SPAN_TARGET;
use opentelemetry::propagation::TextMapPropagator;
use opentelemetry::trace::{TraceContextExt, TracerProvider};
use opentelemetry::{Array, Context, KeyValue, StringValue, Value};
use opentelemetry_otlp::{
    Compression, ExporterBuildError, Protocol, SpanExporter as OtlpExporter, WithExportConfig, WithHttpConfig,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{
    BatchConfigBuilder, BatchSpanProcessor, Sampler, SdkTracerProvider, SpanData, SpanExporter,
};
use secrecy::ExposeSecret;
use tokio::runtime::Handle;
use tokio::time::Instant;
use tracing::{Span, Subscriber};
use tracing_opentelemetry::OpenTelemetrySpanExt;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, filter_fn};
use tracing_subscriber::registry::LookupSpan;

use crate::config::{OtlpProtocol, TraceSampler, TraceSettings};

/// Maximum time to export the last spans at shutdown. Together with the connections and the tasks before, it stays below
/// the ten seconds after which process supervisors usually kill.
const MAX_FLUSH_TIME: Duration = Duration::from_secs(1);
/// Minimum interval between warnings about a collector that does not accept spans.
const WARNING_INTERVAL: Duration = Duration::from_mins(10);

/// Whether spans contain messages, arguments and results.
static CAPTURES_CONTENT: AtomicBool = AtomicBool::new(false);

/// The reason why spans cannot be exported.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The settings were refused.
    #[error("traces cannot be exported: {0}")]
    Exporter(#[from] ExporterBuildError),
    /// The HTTP client could not be created.
    #[error("traces cannot be exported: {0}")]
    HttpClient(#[from] reqwest::Error),
}

/// Exporter of the spans of this process. There is one for each process.
#[derive(Debug)]
pub struct TraceExporter {
    provider: SdkTracerProvider,
}

impl TraceExporter {
    /// Creates the exporter. It sends batches on a thread of its own, over connections that belong to `runtime`.
    ///
    /// # Errors
    ///
    /// See [`TraceError`]. Whether a collector answers is found out later.
    pub fn new(settings: &TraceSettings, version: &'static str, runtime: Handle) -> Result<Self, TraceError> {
        let headers = settings.headers.iter();
        let headers = headers.map(|(name, value)| (name.clone(), value.expose_secret().to_owned())).collect();
        let builder = OtlpExporter::builder()
            .with_http()
            .with_http_client(http_client(settings.timeout)?)
            .with_endpoint(settings.endpoint.as_str())
            .with_protocol(match settings.protocol {
                OtlpProtocol::Protobuf => Protocol::HttpBinary,
                OtlpProtocol::Json => Protocol::HttpJson,
            })
            .with_timeout(settings.timeout)
            .with_headers(headers);
        let builder = if settings.is_compressed { builder.with_compression(Compression::Gzip) } else { builder };
        let exporter = ReportingExporter { inner: builder.build()?, runtime, warned_at: Mutex::default() };
        let batches = BatchConfigBuilder::default().with_scheduled_delay(settings.schedule_delay).build();
        let attributes = settings.resource.iter().map(|(key, value)| KeyValue::new(key.clone(), value.clone()));
        let resource = Resource::builder_empty()
            .with_attributes([
                KeyValue::new("service.version", version),
                KeyValue::new("service.instance.id", domain::ids::fresh().to_string()),
                KeyValue::new("telemetry.sdk.name", "opentelemetry"),
                KeyValue::new("telemetry.sdk.language", "rust"),
            ])
            // Last, so that the operator's values win.
            .with_attributes(attributes)
            .build();
        let provider = SdkTracerProvider::builder()
            .with_resource(resource)
            .with_sampler(sampler(settings.sampler))
            .with_span_processor(BatchSpanProcessor::builder(exporter).with_batch_config(batches).build())
            .build();
        CAPTURES_CONTENT.store(settings.captures_content, Ordering::Relaxed);
        Ok(Self { provider })
    }

    /// Returns the layer that passes spans of this program to the exporter. Log messages are not among them.
    pub(crate) fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'span> LookupSpan<'span>,
    {
        let is_ours = filter_fn(|metadata| metadata.is_span() && metadata.target() == SPAN_TARGET)
            .with_max_level_hint(LevelFilter::INFO);
        // What is left out says where the span is made in the source and on which thread, the same for all of a kind.
        tracing_opentelemetry::layer::<S>()
            .with_tracer(self.provider.tracer("ai-chat-mcp"))
            .with_location(false)
            .with_threads(false)
            .with_target(false)
            .with_tracked_inactivity(false)
            .with_filter(is_ours)
    }

    /// Exports the spans that have ended, for at most [a second](MAX_FLUSH_TIME). Later ones are lost.
    ///
    /// Blocks, so that it must be called outside async tasks, while the runtime still exists.
    pub fn stop(&self) {
        if let Err(error) = self.provider.shutdown_with_timeout(MAX_FLUSH_TIME) {
            tracing::debug!(%error, "the last spans were not exported");
        }
    }
}

/// Creates the client for the collector, which the operator names.
fn http_client(timeout: Duration) -> reqwest::Result<reqwest::Client> {
    #[expect(clippy::disallowed_methods, reason = "the operator names the address")]
    let builder = || {
        reqwest::Client::builder()
            .user_agent(concat!("ai-chat-mcp/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            .timeout(timeout)
    };
    // Without any certificates on the system, which is common in containers, plain HTTP works all the same.
    builder().build().or_else(|_| builder().tls_certs_only([]).build())
}

fn sampler(settings: TraceSampler) -> Sampler {
    let root = match settings.ratio {
        ratio if ratio >= 1.0 => Sampler::AlwaysOn,
        ratio if ratio <= 0.0 => Sampler::AlwaysOff,
        ratio => Sampler::TraceIdRatioBased(ratio),
    };
    if settings.follows_parent { Sampler::ParentBased(Box::new(root)) } else { root }
}

/// An exporter that reports in the log when a collector does not accept spans.
#[derive(Debug)]
struct ReportingExporter {
    inner: OtlpExporter,
    /// Runtime of the connections. The thread that exports is none of its own.
    runtime: Handle,
    /// Time of the last warning.
    warned_at: Mutex<Option<Instant>>,
}

impl ReportingExporter {
    fn warn(&self, error: impl fmt::Display) {
        let mut warned_at = self.warned_at.lock().unwrap_or_else(PoisonError::into_inner);
        if warned_at.is_none_or(|at| at.elapsed() >= WARNING_INTERVAL) {
            *warned_at = Some(Instant::now());
            tracing::warn!(%error, "traces could not be exported; spans are lost");
        }
    }
}

impl SpanExporter for ReportingExporter {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let mut export = pin!(self.inner.export(batch));
        let result = poll_fn(|context| {
            let _entered = self.runtime.enter();
            export.as_mut().poll(context)
        })
        .await;
        if let Err(error) = &result {
            self.warn(error);
        }
        result
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.inner.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.inner.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.inner.set_resource(resource);
    }
}

/// Returns whether spans may contain messages of users and models, and arguments and results of tools.
pub fn captures_content() -> bool {
    CAPTURES_CONTENT.load(Ordering::Relaxed)
}

/// Makes a new span continue the trace of a client, as it is given in the headers `traceparent` and `tracestate`. Headers
/// that are absent or invalid change nothing.
pub fn continue_trace(span: &Span, traceparent: Option<&str>, tracestate: Option<&str>) {
    let Some(traceparent) = traceparent else { return };
    let mut headers = HashMap::from([("traceparent".to_owned(), traceparent.to_owned())]);
    headers.extend(tracestate.map(|state| ("tracestate".to_owned(), state.to_owned())));
    let parent = TraceContextPropagator::new().extract_with_context(&Context::new(), &headers);
    // Fails only if the span is not exported.
    drop(span.set_parent(parent));
}

/// Sets an attribute that is a list of texts, which the macros of [`tracing`] cannot do.
pub fn set_list(span: &Span, key: &'static str, values: impl IntoIterator<Item = String>) {
    let values = values.into_iter().map(StringValue::from).collect();
    span.set_attribute(key, Value::Array(Array::String(values)));
}

/// Returns the ids of the current trace and span, if there is one.
pub(crate) fn current_ids() -> Option<(String, String)> {
    Context::map_current(|context| {
        let span = context.span();
        let ids = span.span_context();
        ids.is_valid().then(|| (ids.trace_id().to_string(), ids.span_id().to_string()))
    })
}
