//! Chats whose titles models propose, a turn that waits for a sign-in, and a file in object storage.

use domain::model::Usage;
use domain::{AwaitedInteraction, ChatId, FileId, InteractionKind, MessageId, TurnId};
use storage::file_moves::FilePlace;
use storage::turns::RunningTurn;
use storage::usage::Total;
use storage::{Error, Storage};
use uuid::Uuid;

use crate::migrations::{GRACE, at};

/// The chat.
const CHAT: ChatId = ChatId(Uuid::from_u128(0x110));
/// The file.
const FILE: FileId = FileId(Uuid::from_u128(0x116));

pub async fn check(storage: &Storage) {
    check_turn(storage).await;
    check_usage(storage).await;
    check_file(storage).await;
    check_search(storage).await;
}

async fn check_turn(storage: &Storage) {
    let awaited = AwaitedInteraction { kind: InteractionKind::SignIn, tool: "forecast".to_owned() };
    let id = TurnId(Uuid::from_u128(0x112));
    let running = RunningTurn { chat: CHAT, id, is_waiting: true, waiting_for: Some(awaited) };
    assert_eq!(storage.turns().list_running(GRACE).await.unwrap(), [running]);
}

/// Checks the call that proposed the title, which belongs to no message.
async fn check_usage(storage: &Storage) {
    assert!(storage.models().proposes_titles(GRACE).await.unwrap());
    let usage = Usage { input_tokens: 30, output_tokens: 6, cached_input_tokens: 0 };
    let total = Total { usage, calls: 1, estimated_calls: 0, cost_usd: 0.0, unpriced_calls: 1 };
    assert_eq!(storage.usage().cost_of_chat(GRACE, CHAT).await.unwrap(), total);
}

async fn check_file(storage: &Storage) {
    let stored = storage.files().get(GRACE, FILE).await.unwrap().unwrap();
    assert_eq!((stored.file.media_type.as_str(), stored.file.size, stored.chat), ("image/png", 3, None));
    // Its content is not in the database, and the test has no object storage.
    let content = storage.files().get_bytes(GRACE, FILE).await;
    assert!(matches!(content, Err(Error::FileStorage(_))), "{content:?}");
    assert_eq!(storage.files().count_misplaced(FilePlace::Database).await.unwrap(), (1, 3));
    let objects = storage.files().list_objects("", 10).await.unwrap();
    let keys: Vec<_> = objects.iter().map(|object| object.key.as_str()).collect();
    assert_eq!(keys, ["installation/grace/deleted", "installation/grace/file"]);
}

/// Checks that a message is found that was not indexed before the upgrade.
async fn check_search(storage: &Storage) {
    let found = storage.search().query(GRACE, "rain", None).await.unwrap();
    let messages: Vec<_> = found.messages.iter().map(|hit| (hit.message, hit.created_at)).collect();
    assert_eq!(messages, [(MessageId(Uuid::from_u128(0x111)), at(136))]);
}
