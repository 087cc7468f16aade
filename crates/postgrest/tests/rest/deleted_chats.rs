//! Tests of deleted chats: until they are restored, no statement sees them, and their ids are free for their owner.

use domain::{ChatId, MessageId, QueuedId, ServerId, ShareId, Timestamp, TurnId, UserId};
use postgrest::RestTable;
use postgrest::ast::{OnConflict, RowQuery};
use serde_json::{Value, json};
use storage::Error;
use storage::branches::TurnPosition;
use storage::chat_settings::{ChatMarks, ChatMarksChange};
use storage::chats::NewTurn;
use storage::imports::{ChatImport, ImportedChat};
use storage::queue::QueuedMessage;
use storage::shares::NewShare;

use crate::fixture::{Fixture, NOW, all, eq, fixtures};

const LONG_AGO: Timestamp = Timestamp(0);
const LATER: Timestamp = Timestamp(NOW.0 + 1);

/// Creates a chat with two messages and returns the ids of all three.
async fn chat(fixture: &Fixture, owner: UserId) -> (ChatId, Vec<MessageId>) {
    let chat = ChatId(fixture.put(owner, RestTable::Sessions, json!({ "title": "walrus" })).await[0]);
    let row = |role: &str| json!({ "session_id": chat, "role": role, "content": "walrus" });
    let messages = fixture.put(owner, RestTable::Messages, json!([row("user"), row("assistant")])).await;
    (chat, messages.into_iter().map(MessageId).collect())
}

async fn delete(fixture: &Fixture, owner: UserId, chat: ChatId) -> usize {
    let filters = [eq("id", chat)];
    let deleted =
        postgrest::delete_rows(&fixture.storage, owner, NOW, RestTable::Sessions, &filters, &all(), &[]).await;
    deleted.unwrap().ids.len()
}

fn turn(owner: UserId, chat: ChatId, place: TurnPosition) -> NewTurn {
    NewTurn {
        owner,
        chat,
        id: TurnId::fresh(),
        user_message: MessageId::fresh(),
        answer: MessageId::fresh(),
        content: Some("again".into()),
        place,
        queued: None,
        parts: Vec::new(),
        model: "m".into(),
        tools: json!([]),
        now: NOW,
    }
}

fn queued() -> QueuedMessage {
    QueuedMessage { id: QueuedId::fresh(), content: "next".into(), parts: Vec::new(), tools: json!([]) }
}

fn share(chat: ChatId, token_hash: &[u8]) -> NewShare {
    let (messages, token_hash) = ("[]".to_owned(), token_hash.to_vec());
    NewShare { id: ShareId::fresh(), token_hash, chat, messages, files: Vec::new(), count: 1, tools: false, now: NOW }
}

/// Returns the rows that the filter column selects, with their number.
async fn select(fixture: &Fixture, owner: UserId, table: RestTable, column: &str, id: Value) -> (usize, Option<u64>) {
    let filters = vec![eq(column, id.as_str().unwrap())];
    let page = fixture.read(owner, table, &RowQuery { filters, count: true, ..RowQuery::default() }).await.unwrap();
    (page.rows.len(), page.total)
}

#[tokio::test]
async fn deleted_chat_is_invisible_to_rows_and_counts() {
    for fixture in fixtures().await {
        let me = fixture.person().await;
        let (gone, messages) = chat(&fixture, me).await;
        let (stays, others) = chat(&fixture, me).await;
        assert_eq!(delete(&fixture, me, gone).await, 1);
        assert_eq!(delete(&fixture, me, gone).await, 0, "a deleted chat is not deleted again");
        assert_eq!(fixture.everything(me).await.len(), 3);
        let (sessions, table) = (RestTable::Sessions, RestTable::Messages);
        assert_eq!(select(&fixture, me, sessions, "id", json!(gone)).await, (0, Some(0)));
        assert_eq!(select(&fixture, me, table, "session_id", json!(gone)).await, (0, Some(0)));
        assert_eq!(select(&fixture, me, table, "id", json!(messages[0])).await, (0, Some(0)));
        assert_eq!(select(&fixture, me, table, "session_id", json!(stays)).await, (2, Some(2)));

        let title = fixture.update(me, sessions, json!({ "title": "x" }), &[eq("id", gone)]).await.unwrap();
        let text = fixture.update(me, table, json!({ "content": "x" }), &[eq("id", messages[0])]).await.unwrap();
        let filters = [eq("session_id", gone)];
        let deleted = postgrest::delete_rows(&fixture.storage, me, NOW, table, &filters, &all(), &[]).await.unwrap();
        assert_eq!((title.ids.len(), text.ids.len(), deleted.ids.len()), (0, 0, 0));
        let row = json!({ "session_id": gone, "role": "user", "content": "x" });
        assert!(fixture.insert(me, table, row, OnConflict::Fail).await.is_err());
        let moved = fixture.update(me, table, json!({ "session_id": gone }), &[eq("id", others[0])]).await;
        assert!(moved.is_err(), "{moved:?}");

        fixture.storage.chats().restore(me, gone, LONG_AGO).await.unwrap();
        assert_eq!(fixture.everything(me).await.len(), 6, "nothing of it was changed or deleted");
        assert!(!fixture.everything(me).await.iter().any(|row| row.contains(r#""x""#)));
        fixture.close().await;
    }
}

#[tokio::test]
async fn deleted_chat_is_invisible_to_all_repositories() {
    for fixture in fixtures().await {
        let (me, storage) = (fixture.person().await, &fixture.storage);
        let (gone, messages) = chat(&fixture, me).await;
        // Everything that can belong to a chat.
        storage
            .chat_settings()
            .set(me, gone, ChatMarksChange { pinned: Some(true), archived: None }, NOW)
            .await
            .unwrap();
        storage.models().set_of_chat(me, gone, Some("m")).await.unwrap();
        storage.shares().insert(me, &share(gone, b"hash"), 10, &[]).await.unwrap();
        let running = turn(me, gone, TurnPosition::Replace(messages[0]));
        storage.chats().insert_turn(&running, "t").await.unwrap().unwrap();
        storage.queued_messages().insert(me, gone, &queued(), 10, NOW).await.unwrap();
        assert_eq!(storage.search().query(me, "walrus", None).await.unwrap().titles.len(), 1);
        assert_eq!(delete(&fixture, me, gone).await, 1);

        let (chats, branches) = (storage.chats(), storage.branches());
        assert!(chats.get(me, gone).await.unwrap().is_none());
        assert!(chats.list_messages(me, gone, 10).await.unwrap().is_empty());
        assert!(!chats.has_message(me, gone, messages[0]).await.unwrap());
        assert!(branches.list_forks(me, gone).await.unwrap().is_empty());
        assert!(branches.list_inactive(me, gone).await.unwrap().is_empty());
        assert!(matches!(branches.switch(me, gone, messages[0], NOW).await, Err(Error::NotFound)));
        let begun = chats.insert_turn(&turn(me, gone, TurnPosition::End), "t").await;
        assert!(matches!(begun, Err(Error::NotFound)), "{begun:?}");
        let place = TurnPosition::Replace(messages[0]);
        assert!(chats.insert_turn(&turn(me, gone, place), "t").await.unwrap().is_none());

        let turns = storage.turns();
        assert!(turns.find_running(me, gone).await.unwrap().is_none());
        assert!(!turns.is_running(me, running.id).await.unwrap());
        assert!(turns.list_running(me).await.unwrap().is_empty());

        assert!(storage.queued_messages().list(me, gone).await.unwrap().is_empty());
        let appended = storage.queued_messages().insert(me, gone, &queued(), 10, NOW).await;
        assert!(matches!(appended, Err(Error::NotFound)), "{appended:?}");
        assert!(storage.shares().list(me).await.unwrap().is_empty());
        assert!(storage.shares().get_snapshot(b"hash").await.unwrap().is_none());
        let shared = storage.shares().insert(me, &share(gone, b"other"), 10, &[]).await;
        assert!(matches!(shared, Err(Error::NotFound)), "{shared:?}");
        let marked = storage.chat_settings().set(me, gone, ChatMarksChange::default(), NOW).await;
        assert!(matches!(marked, Err(Error::NotFound)), "{marked:?}");
        assert!(storage.chat_settings().list(me).await.unwrap().is_empty());
        assert!(storage.models().get_of_chat(me, gone).await.unwrap().is_none());
        assert!(storage.models().set_of_chat(me, gone, Some("n")).await.is_err());
        assert!(storage.models().get_choices(me, gone).await.unwrap().0.model.is_none());
        let found = storage.search().query(me, "walrus", None).await.unwrap();
        assert!(found.titles.is_empty() && found.messages.is_empty());
        assert_eq!(storage.search().count_pending().await.unwrap(), 0);

        chats.restore(me, gone, LONG_AGO).await.unwrap();
        assert!(chats.get(me, gone).await.unwrap().is_some());
        assert_eq!(chats.list_messages(me, gone, 10).await.unwrap().len(), 1, "the message of the turn");
        assert_eq!(branches.list_inactive(me, gone).await.unwrap().len(), 2);
        assert!(turns.list_running(me).await.unwrap().is_empty());
        assert!(storage.queued_messages().list(me, gone).await.unwrap().is_empty());
        assert_eq!(storage.shares().list(me).await.unwrap().len(), 1);
        let pinned = ChatMarks { pinned: true, archived: false };
        assert_eq!(storage.chat_settings().list(me).await.unwrap(), [(gone, pinned)]);
        assert_eq!(storage.models().get_of_chat(me, gone).await.unwrap().as_deref(), Some("m"));
        let found = storage.search().query(me, "walrus", None).await.unwrap();
        assert_eq!((found.titles.len(), found.messages.len()), (1, 2));
        fixture.close().await;
    }
}

#[tokio::test]
async fn ids_of_deleted_chat_can_be_used_again() {
    for fixture in fixtures().await {
        let (me, storage) = (fixture.person().await, &fixture.storage);
        let restore = async |chat| storage.chats().restore(me, chat, LONG_AGO).await;
        // By an insert and by an upsert.
        let (one, _) = chat(&fixture, me).await;
        for conflict in [OnConflict::Fail, OnConflict::Merge(vec!["id".into()]), OnConflict::Ignore(vec!["id".into()])]
        {
            delete(&fixture, me, one).await;
            let row = json!({ "id": one, "title": "new" });
            assert_eq!(fixture.insert(me, RestTable::Sessions, row, conflict).await.unwrap().inserted, 1);
            assert!(matches!(restore(one).await, Err(Error::NotFound)));
            assert_eq!(fixture.everything(me).await.len(), 1, "without the messages of the deleted one");
        }
        // By an update. One that changes no row leaves the deleted chat as it is.
        let (two, _) = chat(&fixture, me).await;
        delete(&fixture, me, two).await;
        let id = json!({ "id": two });
        fixture.update(me, RestTable::Sessions, id.clone(), &[eq("id", ServerId::fresh())]).await.unwrap();
        restore(two).await.unwrap();
        delete(&fixture, me, two).await;
        assert_eq!(fixture.update(me, RestTable::Sessions, id, &[eq("id", one)]).await.unwrap().ids, [two.0]);
        assert!(matches!(restore(two).await, Err(Error::NotFound)));

        // A message whose id is used again is missing from the restored chat.
        let (three, messages) = chat(&fixture, me).await;
        delete(&fixture, me, three).await;
        let row = json!({ "id": messages[0], "session_id": two, "role": "user", "content": "new" });
        fixture.put(me, RestTable::Messages, row).await;
        let sent = NewTurn { user_message: messages[1], ..turn(me, two, TurnPosition::End) };
        storage.chats().insert_turn(&sent, "t").await.unwrap().unwrap();
        restore(three).await.unwrap();
        assert!(storage.chats().list_messages(me, three, 10).await.unwrap().is_empty());

        // By an import.
        delete(&fixture, me, three).await;
        let import = ImportedChat {
            id: three,
            title: "imported".into(),
            created_at: NOW,
            updated_at: NOW,
            marks: ChatMarks::default(),
            model: None,
            settings: domain::model::ModelSettings::default(),
            messages: Vec::new(),
            files: Vec::new(),
        };
        assert_eq!(storage.chats().insert_imported(me, &import, 0, NOW).await.unwrap(), ChatImport::Inserted);
        assert_eq!(storage.chats().get(me, three).await.unwrap().unwrap().title, "imported");
        fixture.close().await;
    }
}

#[tokio::test]
async fn purge_deletes_old_deleted_chats_only() {
    for fixture in fixtures().await {
        let (me, storage) = (fixture.person().await, &fixture.storage);
        let (gone, _) = chat(&fixture, me).await;
        let (stays, _) = chat(&fixture, me).await;
        delete(&fixture, me, gone).await;
        storage.chats().purge_deleted(NOW).await.unwrap();
        storage.chats().restore(me, gone, NOW).await.unwrap();
        delete(&fixture, me, gone).await;
        storage.chats().purge_deleted(LATER).await.unwrap();
        assert!(matches!(storage.chats().restore(me, gone, LONG_AGO).await, Err(Error::NotFound)));
        assert!(storage.chats().get(me, stays).await.unwrap().is_some());
        assert_eq!(fixture.everything(me).await.len(), 3);
        fixture.close().await;
    }
}
