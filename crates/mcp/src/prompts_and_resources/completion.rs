//! Completion of the arguments of prompts and resource templates.

use std::collections::{BTreeMap, HashMap};

use rmcp::model::{
    ArgumentInfo, ClientRequest, CompleteRequest, CompleteRequestParams, CompletionContext, Reference, ServerResult,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::session::Session;

/// Maximum number of completions in one answer, as the protocol sets it.
const MAX_COMPLETIONS: usize = 100;
/// Maximum length of a completion, in characters; longer ones cannot be read in a list.
const MAX_COMPLETION_CHARS: usize = 2_000;

/// Object whose argument is completed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CompletionTarget {
    /// Prompt of this name.
    Prompt(String),
    /// Resource template with this URI template.
    Template(String),
}

/// Completions that a server proposes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Completions {
    /// Values, in the server's order.
    #[schemars(length(max = MAX_COMPLETIONS))]
    pub values: Vec<String>,
    /// Number of completions that exist, if the server says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// Set if there are more than `values`.
    pub has_more: bool,
}

/// Requests completions of `value` for the argument `name`; none if the server does not support completion.
pub(crate) async fn complete(
    session: &Session,
    target: CompletionTarget,
    name: &str,
    value: &str,
    arguments: BTreeMap<String, String>,
) -> Result<Completions, Error> {
    if session.capabilities.completions.is_none() {
        return Ok(Completions::default());
    }
    let reference = match target {
        CompletionTarget::Prompt(name) => Reference::for_prompt(name),
        CompletionTarget::Template(template) => Reference::for_resource(template),
    };
    let argument = ArgumentInfo::new(name, value);
    let arguments: HashMap<String, String> = arguments.into_iter().collect();
    let params = CompleteRequestParams::new(reference, argument);
    let params =
        if arguments.is_empty() { params } else { params.with_context(CompletionContext::with_arguments(arguments)) };
    let result = session.request(ClientRequest::CompleteRequest(CompleteRequest::new(params))).await?;
    let ServerResult::CompleteResult(result) = result else {
        return Err(Error::Protocol("its proposals cannot be read".to_owned()));
    };
    let completion = result.completion;
    let is_cut = completion.values.len() > MAX_COMPLETIONS;
    let is_short = |value: &String| value.chars().count() <= MAX_COMPLETION_CHARS;
    let values = completion.values.into_iter().filter(is_short).take(MAX_COMPLETIONS).collect();
    let has_more = is_cut || completion.has_more == Some(true);
    Ok(Completions { values, total: completion.total.map(u64::from), has_more })
}
