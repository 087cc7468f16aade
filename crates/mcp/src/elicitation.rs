//! Elicitations: requests of a server for input from the user during a call.
//!
//! All protocol revisions have the same two modes: a form to fill in, or a page to visit. A caller that can show them
//! implements [`ElicitationHandler`] and gives it to the call
//! ([`CallOptions::elicitation_handler`](crate::CallOptions::elicitation_handler)).

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::Serialize;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::error::sanitize_text;
use crate::suspended_call::SuspendedCall;
use form::ElicitationForm;

pub(crate) mod form;
pub(crate) mod validation;

/// Maximum number of lines in the message of an elicitation.
const MAX_MESSAGE_LINES: usize = 40;

/// Shows elicitations to a user.
pub trait ElicitationHandler: Send + Sync + fmt::Debug {
    /// Shows the elicitation and waits for the response. That may take as long as it takes: the deadlines of the call
    /// pause. The future is dropped when the call ends or the server withdraws the elicitation.
    ///
    /// With `suspended`, the server keeps nothing open: the call can be resumed from there on another connection.
    /// Without it, a lost connection loses the elicitation and the call.
    fn elicit(
        &self,
        elicitation: Elicitation,
        suspended: Option<Arc<SuspendedCall>>,
    ) -> BoxFuture<'_, ElicitationResponse>;
}

/// Request for input from the user. Its texts are untrusted: show them as plain text, with the name of the server.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "mode", rename_all = "lowercase")]
pub enum Elicitation {
    /// Form to be filled in.
    Form(ElicitationForm),
    /// Page to be visited, for input that the client must not see.
    Url(UrlElicitation),
}

/// Page that the server wants the user to visit. Never open or fetch it without the user's consent.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UrlElicitation {
    /// Reason of the server, sanitized.
    pub message: String,
    /// Address: `http` or `https`, without user name and password.
    pub url: Url,
    /// Set if the host contains a Punycode label, so that it may look like another host.
    pub punycode: bool,
    /// Set if [`ElicitationResponse::Accept`] repeats the call, so that the response has to wait until the user has
    /// finished at the page. Otherwise the response only means consent.
    #[serde(rename = "retriesCall")]
    pub retries_call: bool,
    /// Cancelled when the server reports that the visit is complete, which not every server does.
    #[serde(skip)]
    pub completed: CancellationToken,
}

/// Response of the user to an [`Elicitation`]. Servers distinguish all three.
#[derive(Debug, Clone, PartialEq)]
pub enum ElicitationResponse {
    /// Accepted. A form has the content that [`ElicitationForm::fill`] returned, a visit `FormContent::default()`.
    Accept(FormContent),
    /// Declined explicitly.
    Decline,
    /// Dismissed without a choice.
    Cancel,
}

/// Validated values of a form.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FormContent(pub(crate) Map<String, Value>);

/// Elicitation that cannot be shown to a user; the text says why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the requested input cannot be displayed: {0}")]
pub(crate) struct UnsupportedElicitation(pub(crate) &'static str);

impl Elicitation {
    /// Parses the parameters of an `elicitation/create` request of any revision.
    pub(crate) fn parse(params: &Value) -> Result<Self, UnsupportedElicitation> {
        match params.get("mode").and_then(Value::as_str) {
            // Revision 2025-06-18 had no modes, and later ones define the form as the default.
            None | Some("form") => form::parse_form(params).map(Self::Form),
            Some("url") => UrlElicitation::parse(params).map(Self::Url),
            Some(_) => Err(UnsupportedElicitation("neither a form nor an address")),
        }
    }

    /// Returns the id by which the server reports that a visit is complete.
    pub(crate) fn id_of(params: &Value) -> Option<&str> {
        params.get("elicitationId").and_then(Value::as_str).filter(|id| !id.is_empty())
    }
}

impl UrlElicitation {
    /// Parses the parameters of an elicitation in URL mode.
    pub(crate) fn parse(params: &Value) -> Result<Self, UnsupportedElicitation> {
        let url = params.get("url").and_then(Value::as_str).and_then(|url| Url::parse(url).ok());
        let url = url.ok_or(UnsupportedElicitation("its address is none"))?;
        // User information before the `@` makes an address look like another host's.
        if !matches!(url.scheme(), "http" | "https") || !url.username().is_empty() || url.password().is_some() {
            return Err(UnsupportedElicitation("its address is not of the web"));
        }
        let punycode = url.host_str().is_some_and(|host| host.split('.').any(|label| label.starts_with("xn--")));
        let (message, completed) = (read_message(params), CancellationToken::new());
        Ok(Self { message, url, punycode, retries_call: false, completed })
    }
}

impl ElicitationResponse {
    /// Converts the response to an `ElicitResult`. Only the result of a form has content.
    pub(crate) fn to_result(&self, is_form: bool) -> Value {
        match self {
            Self::Accept(content) if is_form => serde_json::json!({ "action": "accept", "content": content.0 }),
            Self::Accept(_) => serde_json::json!({ "action": "accept" }),
            Self::Decline => serde_json::json!({ "action": "decline" }),
            Self::Cancel => serde_json::json!({ "action": "cancel" }),
        }
    }
}

/// Returns the message of an elicitation, sanitized and cut, with its line ends.
pub(crate) fn read_message(params: &Value) -> String {
    params.get("message").and_then(Value::as_str).map(sanitize_lines).unwrap_or_default()
}

fn sanitize_lines(text: &str) -> String {
    text.lines().take(MAX_MESSAGE_LINES).map(sanitize_text).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn visit(url: &str) -> Result<UrlElicitation, UnsupportedElicitation> {
        UrlElicitation::parse(&json!({ "mode": "url", "message": "Pay", "url": url, "elicitationId": "e" }))
    }

    #[test]
    fn accepts_only_web_addresses() {
        for url in ["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "https://a@b.example/", "no", ""] {
            assert!(visit(url).is_err(), "{url}");
        }
        assert!(!visit("https://pay.example/x?y=1").unwrap().punycode);
        assert!(visit("https://аpple.example/").unwrap().punycode, "a Cyrillic letter");
    }

    #[test]
    fn parses_form_and_url_mode() {
        let form = Elicitation::parse(&json!({ "message": "Who?", "requestedSchema": { "type": "object" } })).unwrap();
        assert!(matches!(form, Elicitation::Form(ElicitationForm { fields, .. }) if fields.is_empty()));
        assert!(matches!(
            Elicitation::parse(&json!({ "mode": "url", "message": "a\u{1b}b\nc", "url": "https://a.example" })),
            Ok(Elicitation::Url(UrlElicitation { message, .. })) if message == "a⟨U+001B⟩b\nc"
        ));
        assert!(Elicitation::parse(&json!({ "mode": "telepathy", "message": "x" })).is_err());
    }

    #[test]
    fn converts_each_response_to_its_action() {
        assert_eq!(ElicitationResponse::Decline.to_result(true), json!({ "action": "decline" }));
        assert_eq!(ElicitationResponse::Cancel.to_result(true), json!({ "action": "cancel" }));
        assert_eq!(
            ElicitationResponse::Accept(FormContent::default()).to_result(true),
            json!({ "action": "accept", "content": {} })
        );
        assert_eq!(ElicitationResponse::Accept(FormContent::default()).to_result(false), json!({ "action": "accept" }));
    }
}
