//! Collection of a model's output: its parts while they are written, and the complete output of a step.

use domain::model::{FinishReason, ModelCall, ModelFile, ModelMessage, PartKind, ReasoningBlock, Signature, Usage};

/// Complete output of one model call.
#[derive(Debug, Default)]
pub struct StepOutput {
    /// Reasoning that the provider expects back, in order.
    pub reasoning_blocks: Vec<ReasoningBlock>,
    /// Requested tool calls, in order.
    pub calls: Vec<ModelCall>,
    /// Text.
    pub text: String,
    /// Generated images.
    pub files: Vec<ModelFile>,
    /// Reason for the end; `None` if the stream ended without one.
    pub finish: Option<FinishReason>,
    /// Tokens, as far as the provider reported them.
    pub usage: Usage,
}

impl StepOutput {
    /// Turns the output into a message of the conversation.
    pub fn into_message(self) -> ModelMessage {
        let Self { reasoning_blocks, text, calls, files, .. } = self;
        ModelMessage::Assistant { reasoning_blocks, text, calls, files }
    }
}

/// A part that the model is writing.
#[derive(Debug)]
pub struct OpenPart<T> {
    /// Number that the model gave the part.
    pub number: u32,
    /// Kind of the part.
    pub kind: PartKind,
    /// Text so far: of the answer, of reasoning, or of a tool call's arguments.
    pub text: String,
    /// Signature of reasoning, which the provider expects back.
    pub signature: Option<Signature>,
    /// What the [sink](super::EventSink) keeps for the part.
    pub state: T,
}

/// Collector of the parts of one model call. `T` is what a [sink](super::EventSink) keeps for each part.
#[derive(Debug)]
pub struct StepCollector<T> {
    /// Parts that are not complete, in the order in which they began.
    pub open: Vec<OpenPart<T>>,
    /// Output of the complete parts.
    pub output: StepOutput,
}

impl<T> Default for StepCollector<T> {
    fn default() -> Self {
        Self { open: Vec::new(), output: StepOutput::default() }
    }
}

impl<T> StepCollector<T> {
    /// Begins a part.
    pub fn start(&mut self, number: u32, kind: PartKind, state: T) {
        self.open.push(OpenPart { number, kind, text: String::new(), signature: None, state });
    }

    /// Returns a part that is not complete.
    pub fn part(&mut self, number: u32) -> Option<&mut OpenPart<T>> {
        self.open.iter_mut().find(|open| open.number == number)
    }

    /// Sets the signature of a part.
    pub fn signature(&mut self, number: u32, signature: Signature) {
        if let Some(open) = self.part(number) {
            open.signature = Some(signature);
        }
    }

    /// Takes a part out of the incomplete ones.
    pub fn take(&mut self, number: u32) -> Option<OpenPart<T>> {
        let index = self.open.iter().position(|open| open.number == number)?;
        Some(self.open.remove(index))
    }

    /// Adds a complete part to the output.
    pub fn finish(&mut self, part: OpenPart<T>) {
        let output = &mut self.output;
        match part.kind {
            PartKind::Text => output.text.push_str(&part.text),
            // Reasoning without a signature cannot be given back: providers reject what they did not sign.
            PartKind::Reasoning => output.reasoning_blocks.extend(part.signature.map(|signature| ReasoningBlock {
                calls_before: output.calls.len(),
                text: part.text,
                signature,
            })),
            PartKind::ToolCall { id, name } => {
                output.calls.push(ModelCall { id, name, arguments: part.text });
            }
        }
    }
}
