//! Events of a turn: the AI SDK's UI message stream, version 1, with our additions as `data-` chunks.
//!
//! The same events, read back from the journal after a crash, restore the answer as far as it had been written.

use domain::file::FileRef;
use domain::model::{ModelStatus, Signature, Usage};
use domain::tool::{Outcome, ToolResult};
use domain::{ChatId, InteractionId, MessageId, ServerId, Timestamp, TurnId};
use mcp::ElicitationResponse;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One event of a turn; `docs/api.md` lists them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
#[expect(missing_docs, reason = "the fields are the protocol's own")]
pub enum TurnEvent {
    Start {
        message_id: MessageId,
        message_metadata: StartMetadata,
    },
    StartStep,
    FinishStep,
    TextStart {
        id: String,
    },
    TextDelta {
        id: String,
        delta: String,
    },
    TextEnd {
        id: String,
    },
    ReasoningStart {
        id: String,
    },
    ReasoningDelta {
        id: String,
        delta: String,
    },
    ReasoningEnd {
        id: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_metadata: Option<ProviderMetadata>,
    },
    File(FileRef),
    ToolInputStart {
        tool_call_id: String,
        tool_name: String,
        dynamic: bool,
        tool_metadata: ToolMetadata,
    },
    ToolInputDelta {
        tool_call_id: String,
        input_text_delta: String,
    },
    ToolInputAvailable {
        tool_call_id: String,
        tool_name: String,
        input: Value,
        dynamic: bool,
        tool_metadata: ToolMetadata,
    },
    ToolApprovalRequest {
        approval_id: InteractionId,
        tool_call_id: String,
        approval_descriptor: ApprovalDescriptor,
    },
    ToolApprovalResponse {
        approval_id: InteractionId,
        approved: bool,
    },
    ToolOutputDenied {
        tool_call_id: String,
    },
    ToolOutputAvailable {
        tool_call_id: String,
        output: ToolResult,
        dynamic: bool,
        duration_ms: u64,
    },
    ToolOutputError {
        tool_call_id: String,
        error_text: String,
        dynamic: bool,
        duration_ms: u64,
        outcome: Outcome,
    },
    DataModelStatus {
        data: ModelStatus,
        transient: bool,
    },
    DataTitle {
        data: TitleData,
        transient: bool,
    },
    DataMcpProgress {
        id: String,
        data: ProgressData,
        transient: bool,
    },
    DataMcpTask {
        id: String,
        data: TaskData,
        transient: bool,
    },
    DataElicitation {
        id: InteractionId,
        data: ElicitationData,
    },
    DataNotice {
        data: NoticeData,
    },
    DataReplyOptions {
        data: ReplyOptionsData,
    },
    Finish {
        finish_reason: String,
        message_metadata: FinishMetadata,
    },
    Abort {
        reason: String,
    },
    Error {
        error_text: String,
    },
}

/// Metadata of an answer at its start, in [`TurnEvent::Start`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StartMetadata {
    /// Id of the turn.
    pub turn_id: TurnId,
    /// Chat of the turn.
    pub session_id: ChatId,
    /// Start of the turn.
    pub created_at: Timestamp,
    /// Model that answers, as `provider/name`.
    pub model: String,
}

/// Metadata of an answer at its end, in [`TurnEvent::Finish`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct FinishMetadata {
    /// Total tokens of all model calls of the turn.
    pub usage: Usage,
}

/// Provider data of a reasoning part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProviderMetadata {
    /// Signature that the provider expects back with the reasoning in later requests.
    pub provider: Signature,
}

/// Metadata of a tool call, in [`TurnEvent::ToolInputStart`] and [`TurnEvent::ToolInputAvailable`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolMetadata {
    /// Name of the tool's connection; empty for a tool that does not exist.
    pub server_name: String,
    /// URI of the MCP app that shows the result, if the tool has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app: Option<String>,
}

/// Description of a tool for an approval ([`TurnEvent::ToolApprovalRequest`]), as its server gives it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalDescriptor {
    /// Connection of the tool.
    pub connection_id: ServerId,
    /// Name that the user gave the connection.
    pub server_name: String,
    /// Definition in canonical form. Its statements are the server's claims and are not verified.
    pub definition: Value,
    /// Definition that the user had allowed permanently, if the server has changed it since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// Instructions of the server, if it has changed them since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<InstructionsChange>,
}

/// Instructions of a server, before and after a change; empty for none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InstructionsChange {
    /// Instructions when the user allowed the server's tools.
    pub before: String,
    /// Instructions now.
    pub now: String,
}

/// State of an elicitation or sign-in. It is sent once when it is shown, and again with the same id when it is
/// settled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ElicitationData {
    /// Id of the tool call.
    pub tool_call_id: String,
    /// Name that the user gave the connection whose server asks.
    pub server_name: String,
    /// State of the elicitation.
    #[serde(flatten)]
    pub state: ElicitationState,
    /// Content while it is waiting; `mode` is `form`, `url` or `sign-in`. Its texts come from the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Value>,
}

/// Lifecycle of an elicitation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "lowercase", rename_all_fields = "camelCase")]
pub enum ElicitationState {
    /// Waiting for the user.
    Waiting {
        /// Whether the server holds the request open until then. Otherwise the call can continue at any time, also
        /// after a restart.
        in_flight: bool,
    },
    /// The user accepted it, or completed the visit or the sign-in.
    Accept,
    /// The user declined it.
    Decline,
    /// The user closed it without a decision.
    Cancel,
    /// The server needs no answer any more.
    Withdrawn,
}

impl ElicitationState {
    /// Returns the state that follows from an answer.
    pub fn of(answer: &ElicitationResponse) -> Self {
        match answer {
            ElicitationResponse::Accept(_) => Self::Accept,
            ElicitationResponse::Decline => Self::Decline,
            ElicitationResponse::Cancel => Self::Cancel,
        }
    }
}

/// New title of a chat.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TitleData {
    /// Title.
    pub title: String,
}

/// Notice for the user about this turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NoticeData {
    /// Text of the notice.
    pub text: String,
}

/// Replies of which the user can send one with a click.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReplyOptionsData {
    /// The replies.
    pub options: Vec<String>,
}

/// Progress of a tool call, as its server reports it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProgressData {
    /// Amount done; it only grows.
    pub progress: f64,
    /// Amount in total, if the server knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<f64>,
    /// Description of the current activity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Status of a tool call that runs as a [task](mcp::Task) at its server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskData {
    /// Start of the call.
    pub started_at: Timestamp,
    /// Whether the task waits for the user's input.
    pub asks: bool,
    /// Status message of the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl TurnEvent {
    /// Returns whether the event is part of the answer and therefore written to the [journal](super::Journal).
    /// Transient events are not.
    pub fn is_lasting(&self) -> bool {
        !matches!(
            self,
            Self::DataModelStatus { .. }
                | Self::DataTitle { .. }
                | Self::DataMcpProgress { .. }
                | Self::DataMcpTask { transient: true, .. }
                | Self::Finish { .. }
        )
    }
}
