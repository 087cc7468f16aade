//! Turns of the fixture 0100, with their journal, interactions and tasks.

use domain::elicitation::Action;
use domain::permission::{AllowedBy, Decision};
use domain::{AwaitedInteraction, InteractionId, InteractionKind, NodeId};
use serde_json::json;
use storage::Storage;
use storage::interactions::{
    ApprovalDecision, ApprovalRequest, Interaction, InteractionRequest, SealedAnswer, StoredResponse,
};
use storage::turns::RunningTurn;
use uuid::Uuid;

use crate::migrations::{ADA, CHAT, SERVER, TURN, at};

pub async fn check(storage: &Storage) {
    check_turns(storage).await;
    check_interactions(storage).await;
    check_tool_tasks(storage).await;
    let nodes = storage.nodes().list_others().await.unwrap();
    assert_eq!(nodes, [(NodeId(Uuid::from_u128(0x13)), 3)]);
}

async fn check_turns(storage: &Storage) {
    let awaited = AwaitedInteraction { kind: InteractionKind::Approval, tool: "search".to_owned() };
    let running = RunningTurn { chat: CHAT, id: TURN, is_waiting: true, waiting_for: Some(awaited) };
    assert_eq!(storage.turns().list_running(ADA).await.unwrap(), [running]);
    let journal = storage.turns().list_chunks_after(ADA, TURN, 0).await.unwrap();
    assert_eq!(journal, [(4, r#"{"type":"start"}"#.to_owned())]);
}

fn approval(instructions: &str) -> InteractionRequest {
    InteractionRequest::Approval(ApprovalRequest {
        server: SERVER,
        tool: "search".to_owned(),
        url: "https://mcp.example/".to_owned(),
        definition: r#"{"name":"search"}"#.to_owned(),
        instructions: instructions.to_owned(),
    })
}

fn interaction(
    id: u128,
    tool_call: &str,
    request: InteractionRequest,
    response: Option<StoredResponse>,
) -> Interaction {
    Interaction {
        id: InteractionId(Uuid::from_u128(id)),
        turn: TURN,
        tool_call: tool_call.to_owned(),
        request,
        response,
    }
}

async fn check_interactions(storage: &Storage) {
    let arguments = json!({ "query": "rain" }).as_object().cloned();
    let decision = StoredResponse::Decision(ApprovalDecision { decision: Decision::Once, arguments });
    let answer = SealedAnswer { action: Action::Accept, content: Some(vec![0x7b, 0xff]) };
    let elicitation = InteractionRequest::Elicitation(Some(vec![0x7a, 0xff]));
    let expected = [
        interaction(0x10, "call-1", approval("Search first."), Some(decision)),
        interaction(0x11, "call-2", elicitation, Some(StoredResponse::Answer(answer))),
        interaction(0x1f, "call-3", approval(""), None),
    ];
    assert_eq!(storage.interactions().list(ADA, TURN).await.unwrap(), expected);
    let pending = storage.interactions().list_pending_approvals(ADA, SERVER, "search").await.unwrap();
    assert_eq!(pending, expected[2..]);
}

async fn check_tool_tasks(storage: &Storage) {
    let tasks = storage.tool_tasks().list(ADA, TURN).await.unwrap();
    let [task] = tasks.as_slice() else { panic!("{tasks:?}") };
    assert_eq!((task.tool_call.as_str(), task.task.as_str(), task.form.as_str()), ("call-1", "task", "core"));
    assert_eq!((task.server, task.url.as_str()), (SERVER, "https://mcp.example/"));
    assert_eq!((task.allowed_by, task.ttl_ms, task.created_at), (AllowedBy::Once, Some(60_000), at(59)));
}
