//! One tool call within a turn: from its announcement through the permission to its result.

use std::sync::Arc;

use connections::permissions::{ChangedDefinition, PermissionCheck, binding_url, definition_hash};
use connections::{AuditedCall, BoundTool, CallContext, CallOutcome};
use domain::InteractionId;
use domain::model::{ModelCall, ModelMessage, ToolSpec};
use domain::permission::{AllowedBy, Decision};
use domain::tool::{Outcome, ToolCall, ToolResult};
use futures_util::future::{BoxFuture, join_all};
use mcp::ResumedCall;
use serde_json::{Map, Value};
use storage::interactions::{ApprovalRequest, Interaction, InteractionRequest};
use tokio::sync::OnceCell;

use super::TurnService;
use super::background_calls::TrackedCall;
use super::elicitation_handler::{ToolFingerprint, TurnInteractionHandler};
use super::event::{ApprovalDescriptor, InstructionsChange, NoticeData, ToolMetadata, TurnEvent};
use super::event_recorder::EventRecorder;
use super::pending_interactions::PendingApproval;
use super::resumed_calls::WaitingCall;
use super::transcript::CALL_DECLINED;
use super::{Turn, history};
use crate::agent_loop::{self, ResolvedCall, ToolExecutionError, ToolExecutor, last_user_text};
use crate::files::model_attachments::{AttachmentLoader, InputModalities};
use crate::models::ModelId;
use crate::tool_search::ToolPresentation;
use crate::tool_selection::{ToolSelection, Toolset};

/// Error of a tool call whose tool the user never allows.
pub const TOOL_DENIED: &str = "The person does not allow this tool. The call was not made.";
/// Error of a tool call whose outcome is unknown because of a restart.
pub const OUTCOME_UNKNOWN: &str = "The server was restarted while the call was under way. It may have run.";
/// Notice for subscribers when a result cannot be written to the database.
const RESULT_NOT_STORED_NOTICE: &str =
    "The database does not answer. The answer goes on and is kept in memory until it can be stored.";

/// Runner of one [turn](Turn)'s tool calls.
pub struct ToolRunner<'a> {
    /// Service of the turn.
    pub turns: &'a TurnService,
    /// Turn that the calls belong to.
    pub turn: &'a Turn,
    /// Recorder of the turn's events.
    pub recorder: &'a EventRecorder,
    /// Tools that the user selected for the turn.
    pub selection: &'a ToolSelection,
    /// Files of the conversation, as far as the model accepts them.
    pub attachments: AttachmentLoader,
    /// Tools of the turn, opened when they are first needed: a turn that waits after a restart needs no connection
    /// until the user answers.
    toolset: OnceCell<Toolset>,
    /// Presentation of the tools to the model, made with the first request.
    presentation: OnceCell<ToolPresentation>,
}

/// A change of a tool since the user was asked. The text is for the model.
#[derive(Debug, thiserror::Error)]
enum ToolChange {
    #[error("{0} can no longer be used.")]
    Removed(String),
    #[error("The server changed the tool after the user was asked. The call was not made.")]
    Redefined,
}

/// Outcome of a tool call.
pub struct FinishedCall {
    /// Result or error.
    pub outcome: CallOutcome,
    /// Duration in milliseconds, without the time that the call waited for the user.
    pub duration_ms: u64,
    /// Whether the user declined this call.
    pub is_declined: bool,
}

impl FinishedCall {
    /// Creates the outcome of a call that was not made here.
    pub fn not_made(outcome: CallOutcome) -> Self {
        Self { outcome, duration_ms: 0, is_declined: false }
    }

    /// Creates the outcome of a call that was rejected for `reason`.
    pub fn rejected(reason: impl Into<String>) -> Self {
        Self::not_made(CallOutcome::rejected(reason.into()))
    }
}

impl<'a> ToolRunner<'a> {
    /// Creates a runner for the tools that the user selected. `modalities` are the file types that the model accepts.
    pub fn new(
        turns: &'a TurnService,
        turn: &'a Turn,
        recorder: &'a EventRecorder,
        selection: &'a ToolSelection,
        modalities: InputModalities,
    ) -> Self {
        let attachments = AttachmentLoader::new(modalities);
        Self { turns, turn, recorder, selection, attachments, toolset: OnceCell::new(), presentation: OnceCell::new() }
    }

    /// Returns the tools of the turn. The first call opens them and emits a notice for each connection that cannot be
    /// used.
    pub async fn toolset(&self) -> &Toolset {
        let open = async || {
            // Tools that only apps may call are left out here, so that the model does not learn of them.
            let mut toolset = Toolset::open(&self.turns.connections, self.turn.owner, self.selection).await.for_model();
            for text in toolset.notices.drain(..) {
                self.recorder.emit(&TurnEvent::DataNotice { data: NoticeData { text } });
            }
            toolset
        };
        self.toolset.get_or_init(open).await
    }

    /// Returns the presentation of the tools to the model. If there are too many tools for the model, they are chosen
    /// by the user's last message in `conversation`.
    pub async fn presentation(&self, model: &ModelId, conversation: &[ModelMessage]) -> &ToolPresentation {
        let toolset = self.toolset().await;
        let make = async || {
            let capacity = self.turns.models.tool_limits(self.turn.owner, model).await;
            let presentation = ToolPresentation::new(toolset, capacity, last_user_text(conversation), conversation);
            if let Some(text) = presentation.notice(toolset) {
                self.recorder.emit(&TurnEvent::DataNotice { data: NoticeData { text } });
            }
            presentation
        };
        self.presentation.get_or_init(make).await
    }

    /// Runs one tool call, emits its events, and returns the message for the model. A failed call is a result too.
    pub async fn run_call(&self, call: &ModelCall) -> ModelMessage {
        let toolset = self.toolset().await;
        let (record, resolved) = agent_loop::resolve(toolset, self.presentation.get(), call);
        // The call is durable before it is made: after a crash, recovery must not take a call that may have run for
        // one that was never made.
        let is_durable = self.recorder.emit_synced(&tool_input_event(&record)).await;
        let finished = match resolved {
            _ if !is_durable => FinishedCall::rejected("The database does not answer, so the call was not made."),
            ResolvedCall::Invalid(reason) => FinishedCall::rejected(reason),
            ResolvedCall::Search(found) => FinishedCall::not_made(CallOutcome::Result(found)),
            ResolvedCall::Tool(tool, arguments) => Box::pin(self.run_if_permitted(&record, tool, arguments)).await,
        };
        history::tool_result(&self.finish_call(record, finished).await, call.name.clone(), &self.attachments)
    }

    /// Resumes a call that waited for an [approval](ApprovalRequest) when the previous process stopped.
    pub async fn resume_waiting_call(&self, WaitingCall { id, approval, call: record }: &WaitingCall) {
        let definition = parse_definition(&approval.definition);
        let descriptor = ApprovalDescriptor {
            connection_id: approval.server,
            server_name: record.server_name.clone(),
            definition,
            before: None,
            instructions: None,
        };
        let finished = match &record.arguments {
            Value::Object(arguments) => {
                self.wait_for_decision(record, *id, approval, descriptor, arguments.clone()).await
            }
            _ => FinishedCall::rejected("The arguments are not a JSON object."),
        };
        self.finish_call(record.clone(), finished).await;
    }

    /// Ends a call that was in progress when the previous process stopped. Its outcome is
    /// [unknown](Outcome::Unknown), and it is never repeated.
    pub async fn mark_unknown(&self, record: ToolCall) {
        let outcome = CallOutcome::Failed { reason: OUTCOME_UNKNOWN.to_owned(), outcome: Outcome::Unknown };
        self.finish_call(record, FinishedCall::not_made(outcome)).await;
    }

    /// Runs a call if the user's permission for the tool allows it, and asks for an approval if needed.
    async fn run_if_permitted(
        &self,
        record: &ToolCall,
        tool: &BoundTool,
        arguments: Map<String, Value>,
    ) -> FinishedCall {
        let (turns, owner) = (self.turns, self.turn.owner);
        // The permission applies to the tool as it is now. The server may have changed it since the turn began.
        let tool = turns.connections.refresh_tool(owner, tool).await;
        match turns.connections.check_permission_or_ask(owner, &tool).await {
            PermissionCheck::Denied => self.deny(record, TOOL_DENIED),
            PermissionCheck::Allowed(by) => self.call_tool(record, &tool, arguments, by, None).await,
            PermissionCheck::Ask(changed) => Box::pin(self.request_approval(record, &tool, changed, arguments)).await,
        }
    }

    /// Requests the user's approval of a call. `changed` is what the server has changed since the tool was allowed.
    async fn request_approval(
        &self,
        record: &ToolCall,
        tool: &BoundTool,
        changed: ChangedDefinition,
        arguments: Map<String, Value>,
    ) -> FinishedCall {
        let definition = definition_hash(&tool.definition).text;
        // What the user is about to see is stored with the question. The decision holds for exactly that, whatever the
        // server answers later.
        let approval = ApprovalRequest {
            server: tool.server.id,
            tool: tool.definition.name.clone(),
            url: binding_url(tool).to_owned(),
            definition: definition.clone(),
            instructions: tool.instructions.to_string(),
        };
        let interaction = Interaction {
            id: InteractionId::fresh(),
            turn: self.turn.id,
            tool_call: record.id.clone(),
            request: InteractionRequest::Approval(approval.clone()),
            response: None,
        };
        let (storage, now) = (&self.turn.storage, self.turns.clock.now());
        // The row comes before the event: a client that decides at once must find it.
        if let Err(error) =
            storage.interactions().insert(self.turn.owner, &interaction, &tool.definition.name, now).await
        {
            tracing::error!(%error, turn_id = %self.turn.id, "an interaction could not be stored");
            return FinishedCall::rejected("The person could not be asked, so the call was not made.");
        }
        let definition = parse_definition(&definition);
        let descriptor = ApprovalDescriptor {
            connection_id: tool.server.id,
            server_name: record.server_name.clone(),
            definition,
            before: changed.definition,
            instructions: changed
                .instructions
                .map(|before| InstructionsChange { before, now: tool.instructions.to_string() }),
        };
        let request = TurnEvent::ToolApprovalRequest {
            approval_id: interaction.id,
            tool_call_id: record.id.clone(),
            approval_descriptor: descriptor.clone(),
        };
        if !self.recorder.emit_synced(&request).await {
            return FinishedCall::rejected("The database does not answer, so the call was not made.");
        }
        // The user may have chosen "always" for another call of the same tool meanwhile. That decision looked for
        // open approvals before this one was stored, so it has to be checked again.
        if let PermissionCheck::Allowed(_) = self.turns.connections.check_permission_or_ask(self.turn.owner, tool).await
        {
            self.turns.approve_call(&self.turn.storage, self.turn.owner, &interaction).await;
        }
        self.wait_for_decision(record, interaction.id, &approval, descriptor, arguments).await
    }

    /// Waits for the user's decision about a call, and runs it if it is approved.
    async fn wait_for_decision(
        &self,
        record: &ToolCall,
        id: InteractionId,
        approval: &ApprovalRequest,
        descriptor: ApprovalDescriptor,
        arguments: Map<String, Value>,
    ) -> FinishedCall {
        let waiting = PendingApproval {
            approval_id: id,
            tool_call_id: record.id.clone(),
            name: record.name.clone(),
            arguments: Value::Object(arguments.clone()),
            descriptor,
        };
        let decided = self.turn.interactions.wait_for_decision(waiting).await;
        let by = match decided.as_ref().map(|decided| decided.decision) {
            Some(Decision::Once) => AllowedBy::Once,
            Some(Decision::Always) => AllowedBy::Always,
            Some(Decision::Deny) | None => {
                let response = TurnEvent::ToolApprovalResponse { approval_id: id, approved: false };
                self.recorder.emit(&response);
                return FinishedCall { is_declined: true, ..self.deny(record, CALL_DECLINED) };
            }
        };
        let arguments = match decided.and_then(|decided| decided.arguments) {
            Some(changed) => {
                // They were checked against the schema of the tool when the decision was made.
                let changed_record = ToolCall { arguments: Value::Object(changed.clone()), ..record.clone() };
                // Clients and the stored answer show the arguments that are really sent.
                self.recorder.emit(&tool_input_event(&changed_record));
                changed
            }
            None => arguments,
        };
        // Durable before the call is made: recovery must know that it may have been sent.
        let response = TurnEvent::ToolApprovalResponse { approval_id: id, approved: true };
        if !self.recorder.emit_synced(&response).await {
            return FinishedCall::rejected("The database does not answer, so the call was not made.");
        }
        let fingerprint = ToolFingerprint {
            server: approval.server,
            tool: approval.tool.clone(),
            url: approval.url.clone(),
            definition: approval.definition.clone(),
            instructions: approval.instructions.clone(),
            by,
        };
        self.call_if_unchanged(record, &fingerprint, arguments, None).await
    }

    /// Runs a call that the user was asked about, if the tool still has the definition and the address that the user
    /// saw.
    pub async fn call_if_unchanged(
        &self,
        record: &ToolCall,
        fingerprint: &ToolFingerprint,
        arguments: Map<String, Value>,
        resume: Option<ResumedCall>,
    ) -> FinishedCall {
        match self.revalidate(fingerprint).await {
            Ok(tool) => self.call_tool(record, &tool, arguments, fingerprint.by, resume).await,
            Err(change) => {
                let rejected = FinishedCall::rejected(change.to_string());
                let (turns, owner) = (self.turns, self.turn.owner);
                // The user has allowed this call, so that the list of calls shows what became of it.
                AuditedCall::new(&turns.connections, owner, &record.server_name, &record.name, fingerprint.by)
                    .finish(rejected.outcome.outcome());
                rejected
            }
        }
    }

    /// Returns the tool if it is unchanged, according to [`ToolFingerprint`], since the user was asked.
    async fn revalidate(&self, fingerprint: &ToolFingerprint) -> Result<BoundTool, ToolChange> {
        let toolset = self.toolset().await;
        let Some(tool) = toolset.find_by_id(fingerprint.server, &fingerprint.tool) else {
            return Err(ToolChange::Removed(fingerprint.tool.clone()));
        };
        let tool = self.turns.connections.refresh_tool(self.turn.owner, tool).await;
        // The user may have waited for days. Compared with what was shown, not with the tool when the turn began.
        if ToolFingerprint::of(&tool, fingerprint.by) == *fingerprint {
            return Ok(tool);
        }
        Err(ToolChange::Redefined)
    }

    /// Runs a call that is allowed. `resume` is the state of a suspended call to continue.
    pub async fn call_tool(
        &self,
        record: &ToolCall,
        tool: &BoundTool,
        arguments: Map<String, Value>,
        by: AllowedBy,
        resume: Option<ResumedCall>,
    ) -> FinishedCall {
        let (turns, owner) = (self.turns, self.turn.owner);
        let tracked = TrackedCall {
            record,
            server: tool.server.id,
            url: &tool.server.url,
            allowed_by: by,
            started_at: self.turns.clock.now(),
        };
        let interactions =
            TurnInteractionHandler::new(turns, self.recorder, record, ToolFingerprint::of(tool, by), Vec::new());
        let handler = interactions.clone();
        let finished = self
            .track_call(tracked, |context| {
                let context = CallContext { interactions: Some(Arc::new(handler)), resume, ..context };
                turns.connections.call_tool(owner, tool, arguments, context)
            })
            .await;
        FinishedCall { duration_ms: finished.duration_ms.saturating_sub(interactions.waited_ms()), ..finished }
    }

    /// Records a call that the user does not allow.
    fn deny(&self, record: &ToolCall, reason: &str) -> FinishedCall {
        let audited = AuditedCall::new(
            &self.turns.connections,
            self.turn.owner,
            &record.server_name,
            &record.name,
            AllowedBy::Nobody,
        );
        audited.finish(Outcome::Denied);
        FinishedCall::not_made(CallOutcome::Failed { reason: reason.to_owned(), outcome: Outcome::Denied })
    }

    /// Stores the parts of a result that are too large as files, with a [`FileSaver`], and emits a notice if that was
    /// not possible.
    async fn offload_result(&self, output: ToolResult) -> ToolResult {
        let (result, notice) = self.turn.file_saver(&self.turns.files).offload_result(output, &self.attachments).await;
        if let Some(text) = notice {
            self.recorder.emit(&TurnEvent::DataNotice { data: NoticeData { text } });
        }
        result
    }

    /// Stores and publishes the [outcome](FinishedCall) of a call, and returns the completed record.
    pub async fn finish_call(&self, mut record: ToolCall, finished: FinishedCall) -> ToolCall {
        let FinishedCall { outcome, duration_ms, is_declined } = finished;
        record.outcome = outcome.outcome();
        record.duration_ms = duration_ms;
        let (tool_call_id, dynamic) = (record.id.clone(), true);
        let event = match outcome {
            _ if is_declined => {
                record.error = Some(CALL_DECLINED.to_owned());
                TurnEvent::ToolOutputDenied { tool_call_id }
            }
            CallOutcome::Result(output) => {
                let output = self.offload_result(output).await;
                record.result = Some(output.clone());
                TurnEvent::ToolOutputAvailable { tool_call_id, output, dynamic, duration_ms }
            }
            CallOutcome::Failed { reason, outcome } => {
                record.error = Some(reason.clone());
                TurnEvent::ToolOutputError { tool_call_id, error_text: reason, dynamic, duration_ms, outcome }
            }
        };
        // The call has been made, so that its result is given to the model anyway. If the process is killed before the
        // result is written, the outcome is unknown.
        if !self.recorder.emit_synced(&event).await {
            self.recorder
                .emit(&TurnEvent::DataNotice { data: NoticeData { text: RESULT_NOT_STORED_NOTICE.to_owned() } });
        }
        self.turn.interactions.finish_call();
        record
    }
}

impl ToolExecutor for ToolRunner<'_> {
    fn specs(&self) -> Vec<ToolSpec> {
        let (toolset, presentation) = (self.toolset.get(), self.presentation.get());
        toolset.zip(presentation).map(|(toolset, presentation)| presentation.specs(toolset)).unwrap_or_default()
    }

    fn execute<'a>(&'a self, calls: &'a [ModelCall]) -> BoxFuture<'a, Result<Vec<ModelMessage>, ToolExecutionError>> {
        // Concurrently, as the model asked for them in one step; `join_all` keeps their order for the results.
        Box::pin(async { Ok(join_all(calls.iter().map(|call| self.run_call(call))).await) })
    }
}

/// Returns the event that announces a call with its complete arguments.
fn tool_input_event(call: &ToolCall) -> TurnEvent {
    TurnEvent::ToolInputAvailable {
        tool_call_id: call.id.clone(),
        tool_name: call.name.clone(),
        input: call.arguments.clone(),
        dynamic: true,
        tool_metadata: ToolMetadata { server_name: call.server_name.clone(), app: call.app.clone() },
    }
}

/// Parses a stored tool definition for an approval. Returns `null` if it is invalid.
fn parse_definition(definition: &str) -> Value {
    serde_json::from_str(definition).unwrap_or_else(|error| {
        tracing::error!(%error, "the definition of a tool could not be read for its approval");
        Value::Null
    })
}
