//! Answers that ask for input instead of giving a result, and the collection of that input.
//!
//! Revision 2026-07-28 answers with an `InputRequiredResult`; 2025-11-25 has the error `URLElicitationRequired`.

use std::collections::BTreeMap;
use std::sync::Arc;

use rmcp::model::{ClientRequest, CustomResult, ErrorData, ServerResult};
use serde_json::{Map, Value};

use crate::elicitation::{Elicitation, ElicitationHandler, ElicitationResponse, UrlElicitation};
use crate::elicitation_routing::CallRegistration;
use crate::error::sanitize_text;
use crate::session::Session;
use crate::suspended_call::{RequiredInput, ResumedCall, SuspendedCall};
use crate::{CallError, Error};

/// Maximum number of answers to one request that ask for input or for a repetition.
pub(crate) const MAX_ROUNDS: usize = 10;
/// Error code `URLElicitationRequired` of 2025-11-25.
const URL_ELICITATION_REQUIRED: i32 = -32042;
/// Maximum number of elicitations in one answer; a user could not tell more apart.
const MAX_ELICITATIONS: usize = 16;

/// Reply of a server to a request: its result, or a request for input.
pub(crate) enum ServerReply {
    Complete(Box<ServerResult>),
    InputRequired(RequiredInput),
}

impl ServerReply {
    /// Reads a result.
    ///
    /// # Errors
    ///
    /// [`Error::Protocol`] if the server asks for something that this client does not offer, or in an unknown way.
    pub(crate) fn parse(result: ServerResult) -> Result<Self, Error> {
        let mut raw = match result {
            ServerResult::InputRequiredResult(required) => match serde_json::to_value(required) {
                Ok(Value::Object(raw)) => raw,
                _ => return Err(Error::Protocol("it asks something that cannot be read".to_owned())),
            },
            // The library passes results on as they came if it cannot read them.
            ServerResult::CustomResult(raw) => match raw.0 {
                Value::Object(raw) if raw.get("resultType").is_some_and(|kind| kind == "input_required") => raw,
                Value::Object(raw) if raw.get("resultType").is_some_and(|kind| kind != "complete") => {
                    return Err(Error::Protocol("it answered with a result of an unknown kind".to_owned()));
                }
                other => return Ok(Self::Complete(Box::new(ServerResult::CustomResult(CustomResult(other))))),
            },
            other => return Ok(Self::Complete(Box::new(other))),
        };
        // Opaque to clients; it is returned unchanged with the input.
        let state = match raw.remove("requestState") {
            Some(Value::String(state)) => Some(state),
            _ => None,
        };
        let requests = match raw.remove("inputRequests") {
            Some(Value::Object(requests)) => requests,
            _ => Map::new(),
        };
        Ok(Self::InputRequired(RequiredInput::Responses { elicitations: parse_input_requests(requests)?, state }))
    }
}

/// Returns the parameters of the requested elicitations, by the server's keys.
pub(crate) fn parse_input_requests(requests: Map<String, Value>) -> Result<BTreeMap<String, Value>, Error> {
    if requests.len() > MAX_ELICITATIONS {
        return Err(Error::Protocol("it asks too many questions at once".to_owned()));
    }
    requests.into_iter().map(|(key, request)| Ok((key, elicitation_params(request)?))).collect()
}

/// Returns the parameters of an elicitation. This client declares no other capability that a server could request.
fn elicitation_params(mut request: Value) -> Result<Value, Error> {
    match request.get("method").and_then(Value::as_str) {
        Some("elicitation/create") => Ok(request.get_mut("params").map(Value::take).unwrap_or_default()),
        Some("sampling/createMessage") => Err(Error::Protocol("it asked for sampling, which was not offered".into())),
        Some("roots/list") => Err(Error::Protocol("it asked for roots, which were not offered".into())),
        _ => Err(Error::Protocol("it asked for something that was not offered".into())),
    }
}

/// Returns the visits that an error requires before the call can be made again, if it is such an error.
pub(crate) fn required_visits(error: &ErrorData) -> Option<RequiredInput> {
    let visits = error.data.as_ref()?.get("elicitations")?.as_array()?;
    let is_valid = error.code.0 == URL_ELICITATION_REQUIRED && (1..=MAX_ELICITATIONS).contains(&visits.len());
    is_valid.then(|| RequiredInput::Visits {
        visits: visits.clone(),
        code: error.code.0.into(),
        message: sanitize_text(&error.message),
    })
}

/// Sends a request and repeats it with the server's request state until there is a result. Returns that as JSON.
///
/// # Errors
///
/// [`Error::Protocol`] if the server requires input from a user: only tool calls have an [`ElicitationHandler`].
pub(crate) async fn request_until_complete(
    session: &Session,
    request: impl Fn(Option<String>) -> ClientRequest,
) -> Result<Value, Error> {
    let mut state = None;
    // Bounded, because a faulty server may ask for a repetition forever.
    for _ in 0..MAX_ROUNDS {
        let result = session.request(request(state.take())).await?;
        match ServerReply::parse(result)? {
            ServerReply::InputRequired(RequiredInput::Responses { elicitations, state: next })
                if elicitations.is_empty() =>
            {
                // The next request carries the state of this answer or none, never that of an earlier one.
                state = next;
            }
            ServerReply::InputRequired(_) => {
                return Err(Error::Protocol(
                    "it asks for input first, which is possible in calls of tools only".into(),
                ));
            }
            ServerReply::Complete(result) => return result_to_json(&result),
        }
    }
    Err(Error::Protocol("it keeps asking to be asked again".to_owned()))
}

/// Converts a result to JSON, whatever type the library took it for.
pub(crate) fn result_to_json(result: &ServerResult) -> Result<Value, Error> {
    serde_json::to_value(result).map_err(|_| Error::Protocol("its answer cannot be read".to_owned()))
}

/// Destination of the elicitations of a suspended call.
enum Recipient<'a> {
    /// Call in progress, whose connection reports completed visits.
    Call(&'a CallRegistration),
    /// Handler without a connection.
    Handler(&'a dyn ElicitationHandler),
}

impl Recipient<'_> {
    async fn elicit(
        &self,
        elicitation: Elicitation,
        id: Option<&str>,
        call: &Arc<SuspendedCall>,
    ) -> ElicitationResponse {
        match self {
            Self::Call(eliciting) => eliciting.elicit(elicitation, id, Arc::clone(call)).await,
            Self::Handler(handler) => handler.elicit(elicitation, Some(Arc::clone(call))).await,
        }
    }
}

impl SuspendedCall {
    /// Collects the input without a connection, one elicitation after the other in their original order.
    ///
    /// # Errors
    ///
    /// The server's own error if the user refuses a visit that it requires.
    pub async fn collect_input(self: &Arc<Self>, handler: &dyn ElicitationHandler) -> Result<ResumedCall, CallError> {
        self.collect_from(&Recipient::Handler(handler)).await
    }

    /// Collects the input through a call in progress. Without one, only an answer that requires no input can continue.
    pub(crate) async fn collect_during_call(
        self: &Arc<Self>,
        eliciting: Option<&CallRegistration>,
    ) -> Result<ResumedCall, CallError> {
        match (eliciting, &self.required) {
            (Some(eliciting), _) => self.collect_from(&Recipient::Call(eliciting)).await,
            // The server's own error says more than that this client could not show the pages.
            (None, RequiredInput::Visits { .. }) => Err(self.refusal()),
            (None, RequiredInput::Responses { elicitations, state }) if elicitations.is_empty() => {
                Ok(ResumedCall { round: self.round, responses: BTreeMap::new(), state: state.clone() })
            }
            (None, RequiredInput::Responses { .. }) => {
                Err(Error::Protocol("it asked for input, which was not offered".to_owned()).into())
            }
        }
    }

    async fn collect_from(self: &Arc<Self>, recipient: &Recipient<'_>) -> Result<ResumedCall, CallError> {
        let mut responses = BTreeMap::new();
        let state = match &self.required {
            RequiredInput::Responses { elicitations, state } => {
                // One after another: a user cannot answer several dialogs at once.
                for (key, params) in elicitations {
                    responses.insert(key.clone(), self.response_to(recipient, params).await);
                }
                state.clone()
            }
            RequiredInput::Visits { visits, .. } => {
                // The server rejects the call until all visits are made, so the first refusal ends it.
                for params in visits {
                    let Ok(visit) = UrlElicitation::parse(params) else { return Err(self.refusal()) };
                    let response = self.request_visit(recipient, params, visit).await;
                    if !matches!(response, ElicitationResponse::Accept(_)) {
                        return Err(self.refusal());
                    }
                }
                None
            }
        };
        Ok(ResumedCall { round: self.round, responses, state })
    }

    /// Returns the `ElicitResult` for one elicitation; `cancel` if it cannot be shown.
    async fn response_to(self: &Arc<Self>, recipient: &Recipient<'_>, params: &Value) -> Value {
        match Elicitation::parse(params) {
            Ok(Elicitation::Url(visit)) => self.request_visit(recipient, params, visit).await.to_result(false),
            Ok(form) => recipient.elicit(form, None, self).await.to_result(true),
            Err(error) => {
                tracing::debug!(%error, "elicitation cannot be shown");
                ElicitationResponse::Cancel.to_result(false)
            }
        }
    }

    async fn request_visit(
        self: &Arc<Self>,
        recipient: &Recipient<'_>,
        params: &Value,
        visit: UrlElicitation,
    ) -> ElicitationResponse {
        let elicitation = Elicitation::Url(UrlElicitation { retries_call: true, ..visit });
        recipient.elicit(elicitation, Elicitation::id_of(params), self).await
    }

    /// Returns the error of a call whose required input was refused.
    fn refusal(&self) -> CallError {
        match &self.required {
            RequiredInput::Visits { code, message, .. } => CallError::Server { code: *code, message: message.clone() },
            RequiredInput::Responses { .. } => CallError::Cancelled,
        }
    }
}
