//! Settings of traces: the environment variables of OpenTelemetry that concern traces over OTLP.

use std::time::Duration;

use percent_encoding::percent_decode_str;
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use super::source::{ConfigError, Source};

/// Path of traces below `OTEL_EXPORTER_OTLP_ENDPOINT`.
const TRACES_PATH: &str = "v1/traces";
/// Default name of this service.
const DEFAULT_SERVICE_NAME: &str = "ai-chat-mcp";
/// Attribute with the name of a service.
const SERVICE_NAME: &str = "service.name";
/// Default maximum time to send a batch of spans.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);
/// Default time after which a batch that is not full is sent.
const DEFAULT_SCHEDULE_DELAY: Duration = Duration::from_secs(5);
const DEFAULT_SAMPLER: &str = "parentbased_always_on";
const PROTOBUF: &str = "http/protobuf";
const JSON: &str = "http/json";

/// Where and how spans are exported.
#[derive(Debug, Clone)]
pub struct TraceSettings {
    /// `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`, or `OTEL_EXPORTER_OTLP_ENDPOINT` with the path of traces.
    pub endpoint: Url,
    /// `OTEL_EXPORTER_OTLP_PROTOCOL`. Default: [`OtlpProtocol::Protobuf`].
    pub protocol: OtlpProtocol,
    /// `OTEL_EXPORTER_OTLP_COMPRESSION`: whether batches are compressed with gzip. Default: no.
    pub is_compressed: bool,
    /// `OTEL_EXPORTER_OTLP_HEADERS`: headers of each request, often with a key.
    pub headers: Vec<(String, SecretString)>,
    /// `OTEL_EXPORTER_OTLP_TIMEOUT`: the maximum time to send a batch, with all attempts.
    pub timeout: Duration,
    /// `OTEL_BSP_SCHEDULE_DELAY`: the time after which a batch that is not full is sent.
    pub schedule_delay: Duration,
    /// `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES`: attributes of this process.
    pub resource: Vec<(String, String)>,
    /// `OTEL_TRACES_SAMPLER`, `OTEL_TRACES_SAMPLER_ARG`: which traces are exported.
    pub sampler: TraceSampler,
    /// `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT`: whether spans contain messages, and the arguments and results
    /// of tool calls. Default: no.
    pub captures_content: bool,
}

/// Format of the requests to a collector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OtlpProtocol {
    /// Protocol Buffers.
    Protobuf,
    /// JSON.
    Json,
}

/// Rule by which traces are chosen for export.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TraceSampler {
    /// Share of the traces that begin here, from 0 to 1.
    pub ratio: f64,
    /// Whether the decision of a client that sent a trace context applies instead.
    pub follows_parent: bool,
}

impl TraceSettings {
    /// Reads the settings. Returns `None` if there is no endpoint, or if traces are switched off.
    pub(super) fn read(source: &mut Source) -> Result<Option<Self>, ConfigError> {
        // All names are read first, so that the report of the settings lists them.
        let traces_endpoint = source.url("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")?;
        let endpoint = source.url("OTEL_EXPORTER_OTLP_ENDPOINT")?;
        let is_disabled = boolean(source, "OTEL_SDK_DISABLED")?;
        let is_exported = source.choice("OTEL_TRACES_EXPORTER", &[("otlp", true), ("none", false)])?.unwrap_or(true);
        let [traces_protocol, protocol] =
            ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"].map(|name| (name, source.text(name)));
        let compression = [("gzip", true), ("none", false)];
        let traces_compression = source.choice("OTEL_EXPORTER_OTLP_TRACES_COMPRESSION", &compression)?;
        let compression = source.choice("OTEL_EXPORTER_OTLP_COMPRESSION", &compression)?;
        let traces_headers = headers(source, "OTEL_EXPORTER_OTLP_TRACES_HEADERS")?;
        let headers = headers(source, "OTEL_EXPORTER_OTLP_HEADERS")?;
        let traces_timeout = milliseconds(source, "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT")?;
        let timeout = milliseconds(source, "OTEL_EXPORTER_OTLP_TIMEOUT")?;
        let schedule_delay = milliseconds(source, "OTEL_BSP_SCHEDULE_DELAY")?;
        let resource = resource(source)?;
        let sampler = sampler(source)?;
        let captures_content = boolean(source, "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT")?;
        let endpoint = match (traces_endpoint, endpoint) {
            (Some(endpoint), _) => endpoint,
            (None, Some(base)) => with_traces_path(base),
            (None, None) => return Ok(None),
        };
        if is_disabled || !is_exported {
            return Ok(None);
        }
        // Only now: other programs of the machine may use gRPC with the same variables while traces are off here.
        let protocol = read_protocol(if traces_protocol.1.is_some() { traces_protocol } else { protocol })?;
        Ok(Some(Self {
            endpoint,
            protocol,
            is_compressed: traces_compression.or(compression).unwrap_or(false),
            headers: traces_headers.or(headers).unwrap_or_default(),
            timeout: traces_timeout.or(timeout).unwrap_or(DEFAULT_TIMEOUT),
            schedule_delay: schedule_delay.unwrap_or(DEFAULT_SCHEDULE_DELAY),
            resource,
            sampler,
            captures_content,
        }))
    }
}

/// Returns the values that apply where none is given.
pub(super) fn default_values() -> [(&'static str, String); 6] {
    [
        ("OTEL_EXPORTER_OTLP_PROTOCOL", PROTOBUF.to_owned()),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", DEFAULT_TIMEOUT.as_millis().to_string()),
        ("OTEL_BSP_SCHEDULE_DELAY", DEFAULT_SCHEDULE_DELAY.as_millis().to_string()),
        ("OTEL_SERVICE_NAME", DEFAULT_SERVICE_NAME.to_owned()),
        ("OTEL_TRACES_SAMPLER", DEFAULT_SAMPLER.to_owned()),
        ("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "false".to_owned()),
    ]
}

fn bad(name: &str, reason: impl Into<String>) -> ConfigError {
    ConfigError::Bad { name: name.to_owned(), reason: reason.into() }
}

/// Appends the path of traces, as OpenTelemetry's specification of the exporter says.
fn with_traces_path(mut base: Url) -> Url {
    let path = format!("{}/{TRACES_PATH}", base.path().trim_end_matches('/'));
    base.set_path(&path);
    base
}

/// Parses a boolean as OpenTelemetry does: `true` in any case; every other value is false. In the settings file, it may
/// also be a boolean of TOML.
fn boolean(source: &mut Source, name: &str) -> Result<bool, ConfigError> {
    match source.text(name).map(|text| text.to_ascii_lowercase()).as_deref() {
        None | Some("false" | "off") => Ok(false),
        Some("true" | "on") => Ok(true),
        // OpenTelemetry would take it for false. Rejected, because an operator who sets it wants something.
        Some(_) => Err(bad(name, "it must be true or false")),
    }
}

fn milliseconds(source: &mut Source, name: &str) -> Result<Option<Duration>, ConfigError> {
    let number = source.parse::<std::num::NonZeroU32>(name, "a number of milliseconds, at least 1")?;
    Ok(number.map(|number| Duration::from_millis(number.get().into())))
}

fn read_protocol((name, value): (&str, Option<String>)) -> Result<OtlpProtocol, ConfigError> {
    match value.as_deref() {
        None | Some(PROTOBUF) => Ok(OtlpProtocol::Protobuf),
        Some(JSON) => Ok(OtlpProtocol::Json),
        Some("grpc") => Err(bad(
            name,
            format!("this server does not speak gRPC; use {PROTOBUF} and the collector's port for HTTP, usually 4318"),
        )),
        Some(_) => Err(bad(name, format!("it must be {PROTOBUF} or {JSON}"))),
    }
}

/// Parses a list such as `a=1,b=2`, with percent-encoded values. `None` if it is invalid.
fn pairs(text: &str) -> Option<Vec<(String, String)>> {
    text.split(',')
        .map(str::trim)
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (key, value) = pair.split_once('=')?;
            let value = percent_decode_str(value.trim()).decode_utf8().ok()?;
            Some((key.trim().to_owned(), value.into_owned())).filter(|(key, _)| !key.is_empty())
        })
        .collect()
}

fn headers(source: &mut Source, name: &str) -> Result<Option<Vec<(String, SecretString)>>, ConfigError> {
    let Some(text) = source.secret(name)? else { return Ok(None) };
    let headers = pairs(text.expose_secret()).and_then(|pairs| {
        let is_valid = |(name, value): &(String, String)| {
            reqwest::header::HeaderName::from_bytes(name.as_bytes()).is_ok()
                && reqwest::header::HeaderValue::from_str(value).is_ok()
        };
        pairs.iter().all(is_valid).then_some(pairs)
    });
    let headers = headers.ok_or_else(|| bad(name, "it must be headers such as name=value,other=value"))?;
    Ok(Some(headers.into_iter().map(|(name, value)| (name, value.into())).collect()))
}

/// Reads the attributes of this process. The name of the service comes from the first that names it.
fn resource(source: &mut Source) -> Result<Vec<(String, String)>, ConfigError> {
    let name = source.text("OTEL_SERVICE_NAME");
    let attributes = source.text("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default();
    let mut attributes = pairs(&attributes)
        .ok_or_else(|| bad("OTEL_RESOURCE_ATTRIBUTES", "it must be attributes such as name=value,other=value"))?;
    if let Some(name) = name {
        attributes.retain(|(key, _)| key != SERVICE_NAME);
        attributes.push((SERVICE_NAME.to_owned(), name));
    } else if attributes.iter().all(|(key, _)| key != SERVICE_NAME) {
        attributes.push((SERVICE_NAME.to_owned(), DEFAULT_SERVICE_NAME.to_owned()));
    }
    Ok(attributes)
}

fn sampler(source: &mut Source) -> Result<TraceSampler, ConfigError> {
    const RATIO: &str = "OTEL_TRACES_SAMPLER_ARG";
    let ratio = source.parse::<f64>(RATIO, "a number from 0 to 1")?;
    if ratio.is_some_and(|ratio| !(0.0..=1.0).contains(&ratio)) {
        return Err(bad(RATIO, "it must be a number from 0 to 1"));
    }
    let given = ratio.unwrap_or(1.0);
    let samplers = [
        (DEFAULT_SAMPLER, (1.0, true)),
        ("parentbased_traceidratio", (given, true)),
        ("parentbased_always_off", (0.0, true)),
        ("always_on", (1.0, false)),
        ("always_off", (0.0, false)),
        ("traceidratio", (given, false)),
    ];
    let (ratio, follows_parent) = source.choice("OTEL_TRACES_SAMPLER", &samplers)?.unwrap_or((1.0, true));
    Ok(TraceSampler { ratio, follows_parent })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENDPOINT: (&str, &str) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318");

    fn read(values: &[(&str, &str)]) -> Result<Option<TraceSettings>, String> {
        let mut source = values.iter().fold(Source::default(), |source, (name, value)| source.with(name, *value));
        TraceSettings::read(&mut source).map_err(|error| error.to_string())
    }

    fn read_with_endpoint(values: &[(&str, &str)]) -> TraceSettings {
        read(&[&[ENDPOINT], values].concat()).unwrap().unwrap()
    }

    #[test]
    fn is_off_without_endpoint_or_if_switched_off() {
        assert!(read(&[]).unwrap().is_none());
        assert!(read(&[("OTEL_SERVICE_NAME", "chat")]).unwrap().is_none());
        for off in [("OTEL_SDK_DISABLED", "TRUE"), ("OTEL_TRACES_EXPORTER", "none")] {
            assert!(read(&[ENDPOINT, off, ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")]).unwrap().is_none(), "{off:?}");
        }
    }

    #[test]
    fn has_the_defaults_of_opentelemetry() {
        let settings = read_with_endpoint(&[]);
        assert_eq!(settings.endpoint.as_str(), "http://127.0.0.1:4318/v1/traces");
        assert_eq!((settings.protocol, settings.is_compressed), (OtlpProtocol::Protobuf, false));
        assert_eq!(settings.timeout, Duration::from_secs(10));
        assert_eq!(settings.sampler, TraceSampler { ratio: 1.0, follows_parent: true });
        assert_eq!(settings.resource, [("service.name".to_owned(), "ai-chat-mcp".to_owned())]);
        assert!(!settings.captures_content && settings.headers.is_empty());
    }

    #[test]
    fn settings_of_traces_take_precedence() {
        let settings = read_with_endpoint(&[
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://traces.example/in?tenant=1"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "1"),
            ("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "2000"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "a=1"),
            ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "api-key=a%20key=, x-tenant = 1"),
        ]);
        assert_eq!(settings.endpoint.as_str(), "https://traces.example/in?tenant=1");
        assert_eq!((settings.protocol, settings.timeout), (OtlpProtocol::Json, Duration::from_secs(2)));
        let headers: Vec<(&str, &str)> =
            settings.headers.iter().map(|(name, value)| (name.as_str(), value.expose_secret())).collect();
        assert_eq!(headers, [("api-key", "a key="), ("x-tenant", "1")]);
    }

    #[test]
    fn reads_resource_and_sampler() {
        let attributes = ("OTEL_RESOURCE_ATTRIBUTES", "service.name=other,deployment.environment.name=a%2Cb");
        let ratio = [("OTEL_TRACES_SAMPLER", "traceidratio"), ("OTEL_TRACES_SAMPLER_ARG", "0.25")];
        let settings = read_with_endpoint(&[attributes, ratio[0], ratio[1]]);
        let value = |settings: &TraceSettings, name: &str| {
            let values: Vec<String> =
                settings.resource.iter().filter(|(key, _)| key == name).map(|(_, value)| value.clone()).collect();
            values.join(" ")
        };
        assert_eq!(value(&settings, "service.name"), "other");
        assert_eq!(value(&settings, "deployment.environment.name"), "a,b");
        assert_eq!(settings.sampler, TraceSampler { ratio: 0.25, follows_parent: false });
        let settings = read_with_endpoint(&[attributes, ("OTEL_SERVICE_NAME", "chat")]);
        assert_eq!(value(&settings, "service.name"), "chat");
    }

    #[test]
    fn rejects_invalid_values() {
        for (name, value) in [
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "thrift"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4317"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "10s"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "a key"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "a key=1"),
            ("OTEL_EXPORTER_OTLP_COMPRESSION", "zip"),
            ("OTEL_TRACES_EXPORTER", "zipkin"),
            ("OTEL_TRACES_SAMPLER", "jaeger_remote"),
            ("OTEL_TRACES_SAMPLER_ARG", "2"),
            ("OTEL_SDK_DISABLED", "yes"),
        ] {
            let error = read(&[ENDPOINT, (name, value)]).unwrap_err();
            assert!(error.starts_with(&format!("{name} is invalid")), "{error}");
            assert!(!error.contains("a key"), "{error}");
        }
    }
}
