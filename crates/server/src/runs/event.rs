//! What a run tells its viewers: the UI message stream, version 1, and our additions to it as `data-` chunks.
//!
//! The same events, read back from the database after a crash, make up the answer as far as it had come.

use domain::file::FileRef;
use domain::model::{ModelStatus, Seal, Usage};
use domain::tool::{Outcome, ToolResult};
use domain::{ApprovalId, ChatId, ElicitationId, MessageId, RunId, Timestamp};
use mcp::ElicitationResponse;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One event of a run; `docs/api.md` lists them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
#[expect(missing_docs, reason = "the fields are the protocol's own")]
pub enum RunEvent {
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
        approval_id: ApprovalId,
        tool_call_id: String,
        approval_descriptor: ApprovalDescriptor,
    },
    ToolApprovalResponse {
        approval_id: ApprovalId,
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
        id: ElicitationId,
        data: ElicitationData,
    },
    DataNotice {
        data: NoticeData,
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

/// What is known of an answer when it begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StartMetadata {
    /// The run.
    pub run_id: RunId,
    /// Its chat.
    pub session_id: ChatId,
    /// When it began.
    pub created_at: Timestamp,
    /// `provider/name`.
    pub model: String,
}

/// What is known of an answer when it has ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct FinishMetadata {
    /// The tokens of all its calls of the model together.
    pub usage: Usage,
}

/// What a provider put on a thought.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProviderMetadata {
    /// To be sent back with the thought.
    pub provider: Seal,
}

/// What goes with a tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolMetadata {
    /// The connection the tool belongs to; empty for a tool that does not exist.
    pub server_name: String,
    /// The address of the app that shows the result, if the tool has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app: Option<String>,
}

/// What a person is asked about: the tool as its server describes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalDescriptor {
    /// The connection, by the name its owner gave it.
    pub server_name: String,
    /// The definition in its canonical form. What it says of itself is the server's claim.
    pub definition: Value,
    /// The definition that the person had allowed for good, where the server has changed it since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// The instructions of the server, where it has changed them since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<InstructionsChange>,
}

/// What a server says about how it wants to be used, when the person allowed its tools and now. Empty for nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InstructionsChange {
    /// What it said.
    pub before: String,
    /// What it says.
    pub now: String,
}

/// A question that a call waits, or waited, with. Told once when it is put, and once more under the same id when it is
/// settled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ElicitationData {
    /// The call.
    pub tool_call_id: String,
    /// The connection whose server asks, by the name its owner gave it.
    pub server_name: String,
    /// Whether it waits.
    #[serde(flatten)]
    pub state: ElicitationState,
    /// What is asked, as long as it waits: `mode` is `form`, `url` or `sign-in`. The words are the server's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Value>,
}

/// Where a question is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "lowercase", rename_all_fields = "camelCase")]
pub enum ElicitationState {
    /// The person is asked.
    Waiting {
        /// The server holds the call open until then; otherwise the call can be gone on with at any time.
        in_flight: bool,
    },
    /// The person agreed, or a visit or a sign-in has done its work.
    Accept,
    /// The person said no.
    Decline,
    /// The person closed it.
    Cancel,
    /// The server asks no more.
    Withdrawn,
}

impl ElicitationState {
    /// After an answer.
    pub fn of(answer: &ElicitationResponse) -> Self {
        match answer {
            ElicitationResponse::Accept(_) => Self::Accept,
            ElicitationResponse::Decline => Self::Decline,
            ElicitationResponse::Cancel => Self::Cancel,
        }
    }
}

/// A chat's new name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TitleData {
    /// The name.
    pub title: String,
}

/// Something the person should know about this turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NoticeData {
    /// In words.
    pub text: String,
}

/// How far a call has come, in the server's words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProgressData {
    /// Grows.
    pub progress: f64,
    /// What it grows towards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<f64>,
    /// What is going on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// A call that runs as a task at its server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskData {
    /// When the call was made.
    pub started_at: Timestamp,
    /// Whether the server waits for answers to its questions.
    pub asks: bool,
    /// What is going on, in the server's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl RunEvent {
    /// Whether the event belongs to the answer, or only to the moment.
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

/// Event in the place of one that cannot be encoded, so that viewers learn that something is missing.
const UNENCODABLE_EVENT: &str = r#"{"type":"error","errorText":"A part of the answer could not be stored."}"#;

/// Returns an event as JSON text. One that cannot be encoded is logged, and an error event takes its place.
pub fn encode_event(event: &impl Serialize) -> String {
    serde_json::to_string(event).unwrap_or_else(|error| {
        tracing::error!(%error, "an event of a turn could not be encoded");
        UNENCODABLE_EVENT.to_owned()
    })
}
