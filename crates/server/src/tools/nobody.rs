//! Who is asked in the middle of a call where there is nobody: says no at once, and remembers that there was a question.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use mcp::{Elicitation, ElicitationHandler, ElicitationResponse, SuspendedCall};

use super::{Inquirer, SignInWish};

/// Nobody.
#[derive(Debug, Default)]
pub struct Nobody(AtomicBool);

impl Nobody {
    /// Whether the server of the call asked something.
    pub fn was_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl ElicitationHandler for Nobody {
    fn elicit(&self, _: Elicitation, _: Option<Arc<SuspendedCall>>) -> BoxFuture<'_, ElicitationResponse> {
        self.0.store(true, Ordering::Relaxed);
        ready(ElicitationResponse::Cancel).boxed()
    }
}

impl Inquirer for Nobody {
    // The call fails then, and says that its server wants a sign-in.
    fn sign_in(&self, _: SignInWish) -> BoxFuture<'_, bool> {
        ready(false).boxed()
    }
}
