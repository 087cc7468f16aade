//! Interactions that a call needs before it can continue: elicitations of its server, and a sign-in to it.

use std::fmt;

use domain::elicitation::Action;
use domain::json::to_json;
use domain::{ServerId, UserId};
use futures_util::future::BoxFuture;
use mcp::{ElicitationForm, ElicitationHandler, ElicitationResponse, FieldError, FormContent};
use platform::{ClusterBus, ClusterMessage};
use serde::Serialize;
use serde_json::{Map, Value};
use storage::servers::Server;
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

use super::ConnectionService;

/// Maximum number of sign-ins that a waiting call may be behind. One that is further behind continues, and notices that
/// it has no token yet.
const MAX_SIGN_IN_BACKLOG: usize = 64;

/// Handles the interactions of a call.
pub trait InteractionHandler: ElicitationHandler {
    /// Asks the user to sign in to the server of the call. Returns whether the user has signed in.
    fn sign_in(&self, prompt: SignInPrompt) -> BoxFuture<'_, bool>;
}

/// A sign-in that a call waits for.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SignInPrompt {
    /// The connection.
    pub connection_id: ServerId,
    /// Whether the user is signed in and has to grant the server additional scopes.
    pub additional_scopes: bool,
    /// Token that is cancelled when the user has signed in.
    #[serde(skip)]
    pub done: CancellationToken,
}

impl SignInPrompt {
    /// Returns the request for clients, in the form of an elicitation.
    pub fn request(&self) -> Value {
        let mut request = to_json(self);
        request["mode"] = "sign-in".into();
        request
    }
}

/// Completed sign-ins, for the calls that wait for them.
#[derive(Debug, Clone)]
pub struct CompletedSignIns {
    local: broadcast::Sender<(UserId, ServerId)>,
    cluster: ClusterBus,
}

impl CompletedSignIns {
    /// Creates the publisher; it also publishes to the other nodes.
    pub fn new(cluster: ClusterBus) -> Self {
        Self { local: broadcast::Sender::new(MAX_SIGN_IN_BACKLOG), cluster }
    }

    /// Publishes that a user has signed in to the server of a connection, and that the server was connected again.
    pub fn publish(&self, user: UserId, server: ServerId) {
        self.cluster.publish(|| ClusterMessage::SignedIn { user, server });
        self.publish_local(user, server);
    }

    fn publish_local(&self, user: UserId, server: ServerId) {
        // Fails if no call waits, which is the usual case.
        drop(self.local.send((user, server)));
    }
}

impl ConnectionService {
    /// Handles the message of another node that a user has signed in to a server.
    pub fn handle_remote_sign_in(&self, user: UserId, server: ServerId) {
        self.completed_sign_ins.publish_local(user, server);
    }

    /// Asks the user to sign in to a server. Returns whether the user has signed in, in response or elsewhere.
    pub async fn request_sign_in(
        &self,
        user: UserId,
        server: &Server,
        handler: Option<&dyn InteractionHandler>,
        additional_scopes: bool,
    ) -> bool {
        let Some(handler) = handler else { return false };
        // Subscribed before the prompt is shown: a sign-in that is completed at once must not be missed.
        let mut completed = self.completed_sign_ins.local.subscribe();
        let done = CancellationToken::new();
        let prompt = SignInPrompt { connection_id: server.id, additional_scopes, done: done.clone() };
        let mut answer = handler.sign_in(prompt);
        loop {
            tokio::select! {
                signed_in = &mut answer => return signed_in,
                event = completed.recv(), if !done.is_cancelled() => match event {
                    Ok(other) if other != (user, server.id) => {}
                    // Also if this receiver was too slow and has missed events: the call then tries, and asks again if
                    // it was wrong.
                    _ => done.cancel(),
                }
            }
        }
    }
}

/// A form that was filled in wrongly. The text is for the user.
#[derive(Debug)]
pub struct InvalidForm(Vec<FieldError>);

impl fmt::Display for InvalidForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let problems: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&problems.join("; "))
    }
}

impl std::error::Error for InvalidForm {}

/// Returns the user's answer to an elicitation, validated against its form.
pub fn elicitation_response(
    action: Action,
    content: Map<String, Value>,
    form: Option<&ElicitationForm>,
) -> Result<ElicitationResponse, InvalidForm> {
    match (action, form) {
        (Action::Accept, Some(form)) => form.validate(content).map(ElicitationResponse::Accept).map_err(InvalidForm),
        (Action::Accept, None) => Ok(ElicitationResponse::Accept(FormContent::default())),
        (Action::Decline, _) => Ok(ElicitationResponse::Decline),
        (Action::Cancel, _) => Ok(ElicitationResponse::Cancel),
    }
}
