//! A collector of traces that speaks OTLP over HTTP.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value};
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;

use crate::background::Background;

/// Maximum time for a span to arrive.
const MAX_WAIT: Duration = Duration::from_secs(20);

/// A span that a collector has received.
#[derive(Debug, Clone)]
pub struct ReceivedSpan {
    /// Name.
    pub name: String,
    /// Id of the trace, in hexadecimal digits.
    pub trace_id: String,
    /// Id of the span, in hexadecimal digits.
    pub span_id: String,
    /// Id of the parent; empty for the root of a trace.
    pub parent_id: String,
    /// Ids of the trace and the span of each link.
    pub links: Vec<(String, String)>,
    /// Kind: `Server`, `Client`, `Internal`.
    pub kind: String,
    /// Whether the span ended with an error.
    pub is_error: bool,
    /// Attributes as texts. A list is joined with commas.
    pub attributes: HashMap<String, String>,
    /// Start and end, in nanoseconds.
    pub times: (u64, u64),
    /// Attributes of the process that sent the span.
    pub resource: HashMap<String, String>,
}

impl ReceivedSpan {
    /// Returns an attribute; empty if there is none.
    pub fn attribute(&self, name: &str) -> &str {
        self.attributes.get(name).map_or("", String::as_str)
    }
}

/// What a collector has received.
#[derive(Debug, Default)]
struct Received {
    spans: Vec<ReceivedSpan>,
    headers: Vec<HeaderMap>,
    bodies: Vec<Bytes>,
}

/// A collector on a free port. It stops when it is dropped.
#[derive(Debug)]
pub struct OtlpCollector {
    /// Value for `OTEL_EXPORTER_OTLP_ENDPOINT`.
    pub endpoint: String,
    received: Arc<Mutex<Received>>,
    _server: Background,
}

impl OtlpCollector {
    /// Starts the collector.
    pub async fn start() -> Self {
        let received = Arc::<Mutex<Received>>::default();
        let routes = Router::new().route("/v1/traces", post(receive)).with_state(Arc::clone(&received));
        let server = Background::serve(routes).await;
        Self { endpoint: server.origin.clone(), received, _server: server }
    }

    /// Returns the spans so far.
    pub fn spans(&self) -> Vec<ReceivedSpan> {
        self.received.lock().unwrap().spans.clone()
    }

    /// Returns the headers of the requests so far.
    pub fn headers(&self) -> Vec<HeaderMap> {
        self.received.lock().unwrap().headers.clone()
    }

    /// Returns whether any of the requests so far contains a text.
    pub fn has_received(&self, text: &str) -> bool {
        let received = self.received.lock().unwrap();
        received.bodies.iter().any(|body| body.windows(text.len()).any(|window| window == text.as_bytes()))
    }

    /// Waits for a span with which `is_wanted` is satisfied.
    pub async fn wait_for(&self, is_wanted: impl Fn(&ReceivedSpan) -> bool) -> ReceivedSpan {
        let find = async {
            loop {
                if let Some(span) = self.spans().into_iter().find(&is_wanted) {
                    return span;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let found = tokio::time::timeout(MAX_WAIT, find).await;
        found.unwrap_or_else(|_| panic!("the span did not arrive: {:#?}", self.spans()))
    }
}

/// Receives a request in either format.
async fn receive(State(received): State<Arc<Mutex<Received>>>, headers: HeaderMap, body: Bytes) -> StatusCode {
    let request = match headers.get("content-type").and_then(|value| value.to_str().ok()) {
        Some("application/x-protobuf") => ExportTraceServiceRequest::decode(body.clone()).ok(),
        Some("application/json") => serde_json::from_slice(&body).ok(),
        _ => None,
    };
    let Some(request) = request else { return StatusCode::BAD_REQUEST };
    let mut received = received.lock().unwrap();
    for of_resource in request.resource_spans {
        let resource = attributes(of_resource.resource.map(|resource| resource.attributes).unwrap_or_default());
        let spans = of_resource.scope_spans.into_iter().flat_map(|of_scope| of_scope.spans);
        received.spans.extend(spans.map(|span| received_span(span, &resource)));
    }
    received.headers.push(headers);
    received.bodies.push(body);
    StatusCode::OK
}

fn received_span(span: Span, resource: &HashMap<String, String>) -> ReceivedSpan {
    let links = span.links.iter().map(|link| (hexadecimal(&link.trace_id), hexadecimal(&link.span_id)));
    ReceivedSpan {
        trace_id: hexadecimal(&span.trace_id),
        span_id: hexadecimal(&span.span_id),
        parent_id: hexadecimal(&span.parent_span_id),
        links: links.collect(),
        kind: format!("{:?}", span.kind()),
        is_error: span.status.as_ref().is_some_and(|status| status.code == 2),
        times: (span.start_time_unix_nano, span.end_time_unix_nano),
        attributes: attributes(span.attributes),
        name: span.name,
        resource: resource.clone(),
    }
}

fn hexadecimal(id: &[u8]) -> String {
    id.iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"))
}

fn attributes(list: Vec<KeyValue>) -> HashMap<String, String> {
    list.into_iter().map(|pair| (pair.key, pair.value.map(text_of).unwrap_or_default())).collect()
}

fn text_of(value: AnyValue) -> String {
    match value.value {
        Some(any_value::Value::StringValue(text)) => text,
        Some(any_value::Value::IntValue(number)) => number.to_string(),
        Some(any_value::Value::DoubleValue(number)) => number.to_string(),
        Some(any_value::Value::BoolValue(value)) => value.to_string(),
        Some(any_value::Value::ArrayValue(list)) => list.values.into_iter().map(text_of).collect::<Vec<_>>().join(","),
        other => format!("{other:?}"),
    }
}
