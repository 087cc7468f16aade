//! Interactions of a call without a user who could answer: every request is declined at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use mcp::{Elicitation, ElicitationHandler, ElicitationResponse, SuspendedCall};

use super::{InteractionHandler, SignInPrompt};

/// An [`InteractionHandler`] that cancels every elicitation, and remembers whether there was one.
#[derive(Debug, Default)]
pub struct NonInteractive(AtomicBool);

impl NonInteractive {
    /// Returns whether the server of the call requested an elicitation.
    pub fn was_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl ElicitationHandler for NonInteractive {
    fn elicit(&self, _: Elicitation, _: Option<Arc<SuspendedCall>>) -> BoxFuture<'_, ElicitationResponse> {
        // The call fails in a way that depends on its server, so the caller asks afterwards whether this was the
        // reason.
        self.0.store(true, Ordering::Relaxed);
        ready(ElicitationResponse::Cancel).boxed()
    }
}

impl InteractionHandler for NonInteractive {
    // The call then fails with the message that its server needs a sign-in.
    fn sign_in(&self, _: SignInPrompt) -> BoxFuture<'_, bool> {
        ready(false).boxed()
    }
}
