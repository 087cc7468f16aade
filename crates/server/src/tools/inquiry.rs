//! What a call may ask its person before it goes on: what its server wants to know, and to sign in to it.

use domain::elicitation::Action;
use domain::{ServerId, UserId};
use futures_util::future::BoxFuture;
use mcp::{ElicitationForm, ElicitationHandler, ElicitationResponse, FormContent};
use serde::Serialize;
use serde_json::{Map, Value};
use store::servers::Server;
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

use super::Tools;
use platform::{ClusterBus, ClusterMessage};

/// News of sign-ins that nobody has read yet. Who misses some looks for themselves.
const BACKLOG: usize = 64;

/// Asks the person in the middle of a call.
pub trait Inquirer: ElicitationHandler {
    /// Asks the person to sign in to the call's server, and says whether they have.
    fn sign_in(&self, wish: SignInWish) -> BoxFuture<'_, bool>;
}

/// A sign-in that a call waits for.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SignInWish {
    /// The connection.
    pub connection_id: ServerId,
    /// Whether they are signed in, and have to allow the server more.
    pub additional_scopes: bool,
    /// Cancelled as soon as they are signed in.
    #[serde(skip)]
    pub done: CancellationToken,
}

impl SignInWish {
    /// What the person is asked, beside the questions of servers.
    pub fn request(&self) -> Value {
        let mut request = serde_json::to_value(self).unwrap_or_default();
        request["mode"] = "sign-in".into();
        request
    }
}

/// Tells calls that their person has signed in somewhere.
#[derive(Debug)]
pub struct SignIns {
    here: broadcast::Sender<(UserId, ServerId)>,
    cluster: ClusterBus,
}

impl SignIns {
    /// Tells the other nodes, too.
    pub fn new(cluster: ClusterBus) -> Self {
        Self { here: broadcast::Sender::new(BACKLOG), cluster }
    }

    /// Says that a person has signed in to the server of a connection, and that the server was asked again.
    pub fn tell(&self, user: UserId, server: ServerId) {
        self.cluster.publish(|| ClusterMessage::SignedIn { user, server });
        self.tell_here(user, server);
    }

    fn tell_here(&self, user: UserId, server: ServerId) {
        // Mostly no call waits.
        drop(self.here.send((user, server)));
    }
}

impl Tools {
    /// A person has signed in on another node.
    pub fn heard_of_sign_in(&self, user: UserId, server: ServerId) {
        self.sign_ins.tell_here(user, server);
    }

    /// Whether the person has signed in to a server after they were asked, here or anywhere else.
    pub async fn await_sign_in(
        &self,
        user: UserId,
        server: &Server,
        asker: &dyn Inquirer,
        additional_scopes: bool,
    ) -> bool {
        let mut news = self.sign_ins.here.subscribe();
        let done = CancellationToken::new();
        let mut asked = asker.sign_in(SignInWish { connection_id: server.id, additional_scopes, done: done.clone() });
        loop {
            tokio::select! {
                signed_in = &mut asked => return signed_in,
                told = news.recv(), if !done.is_cancelled() => match told {
                    Ok(who) if who != (user, server.id) => {}
                    _ => done.cancel(),
                }
            }
        }
    }
}

/// The person's answer to a question, checked against the form if it is one. The error says what is wrong with it, in
/// words.
pub fn answer(
    action: Action,
    content: Map<String, Value>,
    form: Option<&ElicitationForm>,
) -> Result<ElicitationResponse, String> {
    let in_words =
        |problems: Vec<mcp::FieldError>| problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
    match (action, form) {
        (Action::Accept, Some(form)) => form.validate(content).map(ElicitationResponse::Accept).map_err(in_words),
        (Action::Accept, None) => Ok(ElicitationResponse::Accept(FormContent::default())),
        (Action::Decline, _) => Ok(ElicitationResponse::Decline),
        (Action::Cancel, _) => Ok(ElicitationResponse::Cancel),
    }
}
