//! Where an answer goes, and whether anybody still wants it.

use domain::model::{ModelError, ModelEvent, ModelStatus};
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

use crate::error::Halt;

/// What the reader of a stream gets.
pub(crate) type Item = Result<ModelEvent, ModelError>;

/// The writing end of one answer. Its length is bounded by the answer's, so the channel need not be.
#[derive(Debug)]
pub(crate) struct Outlet {
    /// Without one nobody listens, and it is wanted all the same.
    sender: Option<UnboundedSender<Item>>,
    /// The reader says stop.
    cancel: CancellationToken,
    /// The engine ends.
    stop: CancellationToken,
}

impl Outlet {
    pub(crate) fn new(sender: UnboundedSender<Item>, cancel: CancellationToken, stop: CancellationToken) -> Self {
        Self { sender: Some(sender), cancel, stop }
    }

    /// For work that nobody listens to, until `cancel`.
    pub(crate) fn until(cancel: CancellationToken) -> Self {
        Self { sender: None, cancel, stop: CancellationToken::new() }
    }

    /// For work that nobody listens to.
    pub(crate) fn unheard() -> Self {
        Self::until(CancellationToken::new())
    }

    /// For a step of the same work that nobody needs to hear of.
    pub(crate) fn quiet(&self) -> Self {
        Self { sender: None, cancel: self.cancel.clone(), stop: self.stop.clone() }
    }

    /// Somebody reads, and nobody said stop.
    pub(crate) fn is_wanted(&self) -> bool {
        !self.cancel.is_cancelled()
            && !self.stop.is_cancelled()
            && !self.sender.as_ref().is_some_and(UnboundedSender::is_closed)
    }

    pub(crate) fn check(&self) -> Result<(), Halt> {
        if self.is_wanted() { Ok(()) } else { Err(Halt::Cancelled) }
    }

    pub(crate) fn send(&self, event: ModelEvent) -> Result<(), Halt> {
        self.check()?;
        self.sender.as_ref().map_or(Ok(()), |sender| sender.send(Ok(event)).map_err(|_| Halt::Cancelled))
    }

    /// Says what goes on, where it makes no difference whether anybody is still there.
    pub(crate) fn tell(&self, status: ModelStatus) {
        let _ = self.send(ModelEvent::Status(status));
    }

    /// Ends the answer with an error. When the reader is gone there is nobody to tell.
    pub(crate) fn fail(&self, error: ModelError) {
        if let Some(sender) = &self.sender {
            let _ = sender.send(Err(error));
        }
    }
}
