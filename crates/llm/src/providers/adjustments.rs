//! Changes to the request format that a refusal asks for.
//!
//! Servers that implement the same API support different subsets of it. Instead of a table of servers, the client sends
//! the full request, reads the refusal, and repeats the request with one [`RequestAdjustments`] field changed.

use domain::model::{Parameters, Request};

/// Differences from the full request format, learned from refusals by one model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RequestAdjustments {
    /// Omit `stream_options`, which asks for the token usage.
    pub omit_stream_options: bool,
    /// Send the output limit as `max_completion_tokens`, as OpenAI's newer models require.
    pub max_completion_tokens: bool,
    /// Form in which reasoning is requested.
    pub reasoning: ReasoningMode,
    /// Maximum number of output tokens the model accepts in `max_tokens`.
    pub output_limit: Option<u32>,
    /// Omit the tools.
    pub omit_tools: bool,
    /// Omit temperature and top-p.
    pub omit_sampling: bool,
    /// Omit the reasoning effort.
    pub omit_effort: bool,
    /// Replace pictures with text that describes them.
    pub omit_pictures: bool,
    /// Replace documents with text that describes them.
    pub omit_documents: bool,
    /// Send files of a tool result in the next user message instead of in the result.
    pub text_only_results: bool,
    /// Do not ask for pictures in the response.
    pub omit_picture_output: bool,
    /// Omit the stop sequences.
    pub omit_stop_sequences: bool,
}

/// Form in which a model is asked for its reasoning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReasoningMode {
    /// Parameters of the API's newest models.
    #[default]
    Current,
    /// Parameters of older models, or of models that show less of their reasoning.
    Legacy,
    /// No parameters for reasoning.
    Off,
}

impl ReasoningMode {
    /// Returns the mode to try after this one was refused.
    pub(super) fn fallback(self) -> Option<Self> {
        match self {
            Self::Current => Some(Self::Legacy),
            Self::Legacy => Some(Self::Off),
            Self::Off => None,
        }
    }
}

/// Returns whether a refusal says that the model, or its server, does not support tools.
pub(super) fn refuses_tools(refusal: &str) -> bool {
    let refusal = refusal.to_ascii_lowercase();
    (refusal.contains("tool") || refusal.contains("function call"))
        && ["not support", "support tool", "unsupported", "not enabled", "enable-auto-tool-choice"]
            .iter()
            .any(|phrase| refusal.contains(phrase))
}

/// Omits the optional parameter that a refusal names; `None` when it names none, or one that was omitted already.
pub(super) fn omit_refused_parameter(refusal: &str, current: RequestAdjustments) -> Option<RequestAdjustments> {
    let refusal = refusal.to_ascii_lowercase();
    let names = |phrases: &[&str]| phrases.iter().any(|phrase| refusal.contains(phrase));
    // Temperature and top-p are dropped together: models that reason refuse both, and a refusal names only one.
    if !current.omit_sampling && names(&["temperature", "top_p", "topp"]) {
        return Some(RequestAdjustments { omit_sampling: true, ..current });
    }
    if !current.omit_picture_output && names(&["modalities", "image_generation"]) {
        return Some(RequestAdjustments { omit_picture_output: true, ..current });
    }
    // The bare word "stop" occurs in many refusals that are about something else.
    let names_stop = names(&["'stop'", "\"stop\"", "`stop`", "stop_sequences", "stopsequences", "stop sequence"]);
    if !current.omit_stop_sequences && names_stop {
        return Some(RequestAdjustments { omit_stop_sequences: true, ..current });
    }
    let names_effort = names(&["effort", "thinking_level", "thinkinglevel", "thinking level", "output_config"]);
    (!current.omit_effort && names_effort).then_some(RequestAdjustments { omit_effort: true, ..current })
}

/// Returns whether the adjustments drop a parameter that the request sets.
pub(crate) fn drops_parameters(request: &Request, adjustments: RequestAdjustments) -> bool {
    let Parameters { temperature, top_p, effort } = request.parameters;
    (adjustments.omit_sampling && (temperature.is_some() || top_p.is_some()))
        || (adjustments.omit_effort && effort.is_some())
}

#[cfg(test)]
mod tests {
    use domain::model::Effort;

    use super::*;

    #[test]
    fn recognizes_refusal_of_tools() {
        for refusal in [
            "registry.ollama.ai/library/gemma:2b does not support tools",
            "No endpoints found that support tool use.",
            "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set",
        ] {
            assert!(refuses_tools(refusal), "{refusal}");
        }
        assert!(!refuses_tools("tools.0.name: string does not match"));
    }

    #[test]
    fn omits_only_the_refused_parameter() {
        let initial = RequestAdjustments::default();
        let sampling = RequestAdjustments { omit_sampling: true, ..initial };
        let refusal = "Unsupported value: 'temperature' does not support 0.2 with this model.";
        assert_eq!(omit_refused_parameter(refusal, initial), Some(sampling));
        assert_eq!(omit_refused_parameter(refusal, sampling), None);
        let both = RequestAdjustments { omit_effort: true, ..sampling };
        let refusal = "Unsupported parameter: 'reasoning.effort' is not supported with this model.";
        assert_eq!(omit_refused_parameter(refusal, sampling), Some(both));
        assert_eq!(omit_refused_parameter("tools.0.name: too long", initial), None);
        let parameters = Parameters { effort: Some(Effort::Low), ..Parameters::default() };
        let request = Request { parameters, ..Request::default() };
        assert!(drops_parameters(&request, both) && !drops_parameters(&request, sampling));
    }
}
