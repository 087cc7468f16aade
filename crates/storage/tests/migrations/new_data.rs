//! What is written into a database of an earlier version after the upgrade.

use domain::message::{MessageStatus, Part};
use domain::{ChatId, MessageId, NodeId, TurnId};
use serde_json::json;
use storage::Storage;
use storage::branches::TurnPosition;
use storage::chats::{Answer, NewTurn};
use storage::quotas::{QuotaException, QuotaExceptions};
use storage::server_sign_ins::Lease;
use storage::turns::TurnCommand;
use uuid::Uuid;

use super::{ADA, CHAT, SERVER, TURN, at};

pub async fn check(storage: &Storage) {
    check_resumed_turn(storage).await;
    check_new_turn(storage).await;
    check_new_title(storage).await;
    check_restored_chat(storage).await;
    check_taken_values(storage).await;
    check_new_settings(storage).await;
}

async fn message_texts(storage: &Storage, chat: ChatId) -> Vec<String> {
    let messages = storage.chats().list_messages(ADA, chat, 10).await.unwrap();
    messages.into_iter().map(|message| message.content).collect()
}

/// Takes over the running turn of a node that is gone, and ends it.
async fn check_resumed_turn(storage: &Storage) {
    storage.nodes().remove(NodeId(Uuid::from_u128(0x13))).await.unwrap();
    storage.nodes().register().await.unwrap();
    let claimed = storage.nodes().claim_turns().await.unwrap();
    let turn = claimed.into_iter().find(|turn| turn.id == TURN).unwrap();
    assert_eq!((turn.owner, turn.chat, turn.created_at), (ADA, CHAT, at(53)));
    assert_eq!((turn.model.as_str(), turn.is_waiting), ("openai/gpt", true));
    assert_eq!(turn.tools, json!([{ "name": "search", "serverName": "Server" }]));
    assert_eq!(storage.turns().list_commands().await.unwrap(), [(TURN, TurnCommand::Refresh)]);
    let answer = Answer {
        id: turn.answer,
        parts: vec![Part::Text { text: "It was interrupted".to_owned() }],
        status: MessageStatus::Interrupted,
        error: None,
        model: turn.model,
        costs: Vec::new(),
    };
    assert!(storage.chats().finish_turn(ADA, CHAT, TURN, &answer, None, at(1000)).await.unwrap());
    assert_eq!(message_texts(storage, CHAT).await, ["Hello", "Good morning", "It was interrupted"]);
}

async fn check_new_turn(storage: &Storage) {
    let turn = NewTurn {
        owner: ADA,
        chat: CHAT,
        id: TurnId::fresh(),
        user_message: MessageId::fresh(),
        answer: MessageId::fresh(),
        content: Some("Will it snow?".to_owned()),
        place: TurnPosition::End,
        queued: None,
        parts: Vec::new(),
        model: "openai/gpt".to_owned(),
        tools: json!([]),
        now: at(1001),
    };
    assert_eq!(storage.chats().insert_turn(&turn, "A new title").await.unwrap(), Some(false));
    assert_eq!(message_texts(storage, CHAT).await[3..], ["Will it snow?"]);
    let found = storage.search().query(ADA, "snow", None).await.unwrap();
    let messages: Vec<_> = found.messages.iter().map(|hit| hit.message).collect();
    assert_eq!(messages, [turn.user_message]);
}

async fn check_new_title(storage: &Storage) {
    assert!(storage.chats().replace_title(ADA, CHAT, "A chat", "A forecast").await.unwrap());
    assert_eq!(storage.chats().get(ADA, CHAT).await.unwrap().unwrap().title, "A forecast");
    let found = storage.search().query(ADA, "forecast", None).await.unwrap();
    assert_eq!(found.titles.iter().map(|hit| hit.chat).collect::<Vec<_>>(), [CHAT]);
    let found = storage.search().query(ADA, "chat", None).await.unwrap();
    assert!(found.titles.is_empty(), "the earlier title is found");
}

async fn check_restored_chat(storage: &Storage) {
    let chat = ChatId(Uuid::from_u128(0x18));
    storage.chats().restore(ADA, chat, at(48)).await.unwrap();
    assert_eq!(storage.chats().get(ADA, chat).await.unwrap().unwrap().title, "A deleted chat");
    assert_eq!(message_texts(storage, chat).await, ["Goodbye"]);
    let found = storage.search().query(ADA, "goodbye", None).await.unwrap();
    assert_eq!(found.messages.iter().map(|hit| hit.chat).collect::<Vec<_>>(), [chat]);
}

/// Takes values that are used once, or are locked for a while.
async fn check_taken_values(storage: &Storage) {
    let authorization = storage.credentials().take_authorization("state", "google", at(0)).await.unwrap().unwrap();
    assert_eq!((authorization.owner, authorization.expires_at), (ADA, at(36)));
    assert_eq!(authorization.secret, [0x44, 0xff]);
    let lease = |now| Lease { holder: Uuid::from_u128(0x1000), now: at(now), until: at(1000) };
    assert!(!storage.server_sign_ins().lock(ADA, SERVER, lease(33)).await.unwrap());
    assert!(storage.server_sign_ins().lock(ADA, SERVER, lease(34)).await.unwrap());
}

/// Changes settings of a user of 0100 that later migrations added.
async fn check_new_settings(storage: &Storage) {
    let defaults = storage.models().get_defaults(ADA).await.unwrap();
    storage.models().set_defaults(ADA, &defaults, true).await.unwrap();
    assert_eq!(storage.models().get_defaults(ADA).await.unwrap(), defaults);
    assert!(storage.models().proposes_titles(ADA).await.unwrap());
    let mut exceptions = QuotaExceptions::default();
    exceptions.0[0] = Some(QuotaException::Limit(100));
    storage.quotas().set_exceptions(ADA, exceptions).await.unwrap();
    assert_eq!(storage.quotas().get_exceptions(ADA).await.unwrap(), exceptions);
}
