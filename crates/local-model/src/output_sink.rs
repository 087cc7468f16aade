//! Sink for the events of a response, with its cancellation.

use domain::model::{FinishReason, ModelError, ModelEvent, ModelStatus, PartKind, Usage};
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

use crate::error::InferenceError;

/// Item of a response stream.
pub(crate) type ResponseItem = Result<ModelEvent, ModelError>;

/// Returns the events of a whole response with this text.
pub(crate) fn text_response(text: String, usage: Usage) -> [ModelEvent; 5] {
    [
        ModelEvent::PartStart { part: 0, kind: PartKind::Text },
        ModelEvent::Delta { part: 0, text },
        ModelEvent::PartEnd { part: 0 },
        ModelEvent::Usage(usage),
        ModelEvent::Finish(FinishReason::Stop),
    ]
}

/// Sending end of one response. The channel is unbounded, because the length of a response is limited.
#[derive(Debug)]
pub(crate) struct OutputSink {
    /// Channel to the reader; `None` to discard the events.
    sender: Option<UnboundedSender<ResponseItem>>,
    /// Cancelled by the reader.
    cancel: CancellationToken,
    /// Cancelled when the engine shuts down.
    stop: CancellationToken,
}

impl OutputSink {
    pub(crate) fn new(
        sender: UnboundedSender<ResponseItem>,
        cancel: CancellationToken,
        stop: CancellationToken,
    ) -> Self {
        Self { sender: Some(sender), cancel, stop }
    }

    /// Creates a sink that discards events, for work that can be cancelled.
    pub(crate) fn discard_until(cancel: CancellationToken) -> Self {
        Self { sender: None, cancel, stop: CancellationToken::new() }
    }

    /// Creates a sink that discards events.
    pub(crate) fn discard() -> Self {
        Self::discard_until(CancellationToken::new())
    }

    /// Returns a sink with the same cancellation that discards events, for internal steps.
    pub(crate) fn without_events(&self) -> Self {
        Self { sender: None, cancel: self.cancel.clone(), stop: self.stop.clone() }
    }

    /// Returns whether the response is still read and not cancelled.
    pub(crate) fn is_wanted(&self) -> bool {
        !self.cancel.is_cancelled()
            && !self.stop.is_cancelled()
            && !self.sender.as_ref().is_some_and(UnboundedSender::is_closed)
    }

    /// Fails with [`InferenceError::Cancelled`] when the response is not wanted any more.
    pub(crate) fn check_cancelled(&self) -> Result<(), InferenceError> {
        if self.is_wanted() { Ok(()) } else { Err(InferenceError::Cancelled) }
    }

    /// Sends an event, or fails with [`InferenceError::Cancelled`].
    pub(crate) fn send(&self, event: ModelEvent) -> Result<(), InferenceError> {
        self.check_cancelled()?;
        self.sender.as_ref().map_or(Ok(()), |sender| sender.send(Ok(event)).map_err(|_| InferenceError::Cancelled))
    }

    /// Sends a whole response with a text that the program has written.
    pub(crate) fn send_text_response(&self, text: String, usage: Usage) -> Result<(), InferenceError> {
        text_response(text, usage).into_iter().try_for_each(|event| self.send(event))
    }

    /// Sends a whole response with a question that the program has written, and the replies to offer.
    pub(crate) fn send_question(&self, text: String, options: Vec<String>, usage: Usage) -> Result<(), InferenceError> {
        let [start, delta, end, usage, finish] = text_response(text, usage);
        let options = ModelEvent::ReplyOptions(options);
        [start, delta, end, options, usage, finish].into_iter().try_for_each(|event| self.send(event))
    }

    /// Sends a status and ignores cancellation.
    pub(crate) fn send_status(&self, status: ModelStatus) {
        let _ = self.send(ModelEvent::Status(status));
    }

    /// Ends the response with an error, if it is still read.
    pub(crate) fn fail(&self, error: ModelError) {
        if let Some(sender) = &self.sender {
            // Fails only if nobody reads the response any more.
            let _ = sender.send(Err(error));
        }
    }
}
