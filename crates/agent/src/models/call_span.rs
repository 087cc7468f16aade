//! The span of a model call, with the attributes of OpenTelemetry's conventions for generative AI.

use std::time::Duration;

use domain::model::{FinishReason, ModelError, ModelEvent, Request, Usage};
use domain::{ChatId, SPAN_TARGET};
use platform::metrics::ModelCallOutcome;
use platform::traces;
use tracing::Span;
use tracing::field::Empty;

use super::ModelId;
use super::span_content::{OutputCapture, input_messages, system_instructions};
use super::user_providers::is_user_provider;

/// Name of users' own providers. Their models have none, so that no user is recognised.
const USER_PROVIDERS: &str = "own";

/// The span of a model call. It ends when it is dropped.
#[derive(Debug)]
pub(super) struct ModelCallSpan {
    span: Span,
    /// Output so far, if spans contain it.
    output: Option<OutputCapture>,
}

impl ModelCallSpan {
    /// Begins the span of a call, as part of the current one.
    pub(super) fn begin(model: &ModelId, chat: Option<ChatId>, request: &Request) -> Self {
        let (provider, name) = if is_user_provider(&model.provider) {
            (USER_PROVIDERS, None)
        } else {
            (provider_name(&model.provider), Some(model.name.as_str()))
        };
        let span = tracing::info_span!(
            target: SPAN_TARGET,
            "chat",
            otel.name = name.map(|name| format!("chat {name}")),
            otel.kind = "client",
            otel.status_code = Empty,
            gen_ai.operation.name = "chat",
            gen_ai.provider.name = provider,
            gen_ai.request.model = name,
            gen_ai.request.stream = true,
            gen_ai.request.max_tokens = request.max_tokens.map(i64::from),
            gen_ai.request.temperature = request.parameters.temperature,
            gen_ai.request.top_p = request.parameters.top_p,
            gen_ai.conversation.id = chat.map(|chat| chat.to_string()),
            gen_ai.system_instructions = Empty,
            gen_ai.input.messages = Empty,
            gen_ai.output.messages = Empty,
            gen_ai.response.time_to_first_chunk = Empty,
            gen_ai.usage.input_tokens = Empty,
            gen_ai.usage.output_tokens = Empty,
            gen_ai.usage.cache_read.input_tokens = Empty,
            "error.type" = Empty,
        );
        let captures_content = !span.is_disabled() && traces::captures_content();
        if captures_content {
            span.record("gen_ai.system_instructions", system_instructions(&request.system));
            span.record("gen_ai.input.messages", input_messages(&request.messages));
        }
        Self { span, output: captures_content.then(OutputCapture::default) }
    }

    /// Takes note of the time to the first output.
    pub(super) fn record_first_output(&self, duration: Duration) {
        self.span.record("gen_ai.response.time_to_first_chunk", duration.as_secs_f64());
    }

    /// Takes note of an event of the model.
    pub(super) fn record_event(&mut self, event: &Result<ModelEvent, ModelError>) {
        if let (Some(output), Ok(event)) = (&mut self.output, event) {
            output.record(event);
        }
        match event {
            Ok(ModelEvent::Finish(reason)) if !self.span.is_disabled() => {
                traces::set_list(&self.span, "gen_ai.response.finish_reasons", [reason_name(reason).to_owned()]);
                if let Some(output) = self.output.take() {
                    self.span.record("gen_ai.output.messages", output.into_messages(reason_name(reason)));
                }
            }
            Err(error) => self.record_failure(error_type(error)),
            _ => {}
        }
    }

    /// Takes note of a call that was not made.
    pub(super) fn record_rejection(&self, error: &ModelError) {
        self.record_failure(error_type(error));
    }

    /// Takes note of the end of the call, and of its usage unless it produced nothing.
    pub(super) fn record_end(&self, outcome: ModelCallOutcome, usage: Option<Usage>) {
        match outcome {
            ModelCallOutcome::Done => {}
            ModelCallOutcome::Failed => {
                self.span.record("otel.status_code", "error");
            }
            ModelCallOutcome::Stopped => self.record_failure("stopped"),
        }
        if let Some(usage) = usage {
            // OpenTelemetry has no unsigned numbers.
            let tokens = |tokens: u64| i64::try_from(tokens).unwrap_or(i64::MAX);
            self.span.record("gen_ai.usage.input_tokens", tokens(usage.input_tokens));
            self.span.record("gen_ai.usage.output_tokens", tokens(usage.output_tokens));
            self.span.record("gen_ai.usage.cache_read.input_tokens", tokens(usage.cached_input_tokens));
        }
    }

    fn record_failure(&self, error_type: &str) {
        self.span.record("error.type", error_type);
        self.span.record("otel.status_code", "error");
    }
}

/// Returns the conventions' name of a provider.
fn provider_name(provider: &str) -> &str {
    match provider {
        "gemini" => "gcp.gemini",
        other => other,
    }
}

/// Returns the conventions' name of a reason for the end of an output.
fn reason_name(reason: &FinishReason) -> &'static str {
    match reason {
        FinishReason::Stop => "stop",
        FinishReason::ToolCalls => "tool_call",
        FinishReason::Length => "length",
        FinishReason::ContentFilter => "content_filter",
        FinishReason::Truncated => "error",
        // In the provider's words, which may be anything.
        FinishReason::Other(_) => "other",
    }
}

/// Returns the kind of an error. Its text, which may quote what was sent, is left out.
fn error_type(error: &ModelError) -> &'static str {
    match error {
        ModelError::Unreachable(_) => "unreachable",
        ModelError::Unauthorized(_) => "unauthorized",
        ModelError::RateLimited { .. } => "rate_limited",
        ModelError::Unpaid(_) => "unpaid",
        ModelError::UnknownModel(_) => "unknown_model",
        ModelError::Refused(_) => "refused",
        ModelError::Provider(_) => "provider",
        ModelError::Malformed(_) => "malformed",
        ModelError::StreamTimeout(_) => "timeout",
        ModelError::ContextOverflow(_) => "context_overflow",
        ModelError::QuotaExceeded(_) => "quota_exceeded",
        ModelError::Unavailable(_) => "unavailable",
    }
}
