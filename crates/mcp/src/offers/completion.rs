//! Help with filling in what prompts and templates take.

use std::collections::{BTreeMap, HashMap};

use rmcp::model::{
    ArgumentInfo, ClientRequest, CompleteRequest, CompleteRequestParams, CompletionContext, Reference, ServerResult,
};
use serde::{Deserialize, Serialize};

use super::ask;
use crate::Error;
use crate::connection::Inner;

/// The protocol's bound on proposals in one answer.
const VALUES: usize = 100;
/// Characters of a proposal that anybody could read in a list.
const LENGTH: usize = 2_000;

/// What is being filled in.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Blank {
    /// An argument of the prompt of this name.
    Prompt(String),
    /// A variable of this template.
    Template(String),
}

/// What a server proposes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Proposals {
    /// In the server's order; at most 100.
    pub values: Vec<String>,
    /// How many there are in all, if the server says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// Whether there are more.
    pub has_more: bool,
}

/// Proposals for what begins with `value`, in view of what is filled in already; none where the server proposes nothing.
pub(crate) async fn complete(
    connection: &Inner,
    blank: Blank,
    name: &str,
    value: &str,
    filled: BTreeMap<String, String>,
) -> Result<Proposals, Error> {
    if connection.capabilities.completions.is_none() {
        return Ok(Proposals::default());
    }
    let reference = match blank {
        Blank::Prompt(name) => Reference::for_prompt(name),
        Blank::Template(template) => Reference::for_resource(template),
    };
    let argument = ArgumentInfo::new(name, value);
    let filled: HashMap<String, String> = filled.into_iter().collect();
    let params = CompleteRequestParams::new(reference, argument);
    let params =
        if filled.is_empty() { params } else { params.with_context(CompletionContext::with_arguments(filled)) };
    let result = ask::once(connection, ClientRequest::CompleteRequest(CompleteRequest::new(params))).await?;
    let ServerResult::CompleteResult(result) = result else {
        return Err(Error::Protocol("its proposals cannot be read".to_owned()));
    };
    let found = result.completion;
    let is_cut = found.values.len() > VALUES;
    let values = found.values.into_iter().filter(|value| value.chars().count() <= LENGTH).take(VALUES).collect();
    Ok(Proposals { values, total: found.total.map(u64::from), has_more: is_cut || found.has_more == Some(true) })
}
