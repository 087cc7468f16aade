//! Tests of files: they are stored while something refers to them, and only their owner can read them.

use domain::file::FileRef;
use domain::message::Part;
use domain::{ChatId, FileId, MessageId, QueuedId, ShareId, Timestamp, UserId};
use postgrest::RestTable;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::json;
use storage::files::NewFile;
use storage::queue::QueuedMessage;
use storage::shares::NewShare;
use storage::{Error, Storage};

use crate::fixture::{Fixture, NOW, all, eq, fixtures};

const ROOM: u64 = 1_000;
/// Later than any file, and earlier.
const LATER: Timestamp = Timestamp(NOW.0 + 1);
const LONG_AGO: Timestamp = Timestamp(0);

async fn keep(storage: &Storage, owner: UserId, bytes: &[u8]) -> FileId {
    let file = NewFile { id: FileId::fresh(), media_type: "text/plain", name: Some("a\u{0}.md"), bytes };
    assert!(storage.files().insert(owner, &file, ROOM, NOW).await.unwrap());
    file.id
}

async fn chat(fixture: &Fixture, owner: UserId) -> ChatId {
    ChatId(fixture.put(owner, RestTable::Sessions, json!({ "title": "t" })).await[0])
}

async fn is_there(storage: &Storage, owner: UserId, id: FileId) -> bool {
    let known = storage.files().get(owner, id).await.unwrap();
    let bytes = storage.files().get_bytes(owner, id).await.unwrap();
    assert_eq!(known.is_some(), bytes.is_some());
    known.is_some()
}

fn part(id: FileId) -> Part {
    Part::File(FileRef { media_type: "text/plain".into(), filename: None, id, size: 1 })
}

async fn queue(storage: &Storage, owner: UserId, chat: ChatId, file: FileId) -> Result<QueuedId, Error> {
    let id = QueuedId::fresh();
    let message = QueuedMessage { id, content: "w".into(), parts: vec![part(file)], tools: json!([]) };
    storage.queued_messages().insert(owner, chat, &message, 10, NOW).await.map(|()| id)
}

fn share(chat: ChatId, files: Vec<FileId>) -> NewShare {
    let (messages, token_hash) = ("[]".to_owned(), b"hash".to_vec());
    NewShare { id: ShareId::fresh(), token_hash, chat, messages, files, count: 1, tools: false, now: NOW }
}

#[tokio::test]
async fn a_file_waits_is_counted_and_goes_when_nobody_sends_it() {
    for fixture in fixtures().await {
        let (me, storage) = (fixture.person().await, &fixture.storage);
        let id = keep(storage, me, &[7; 600]).await;
        let known = storage.files().get(me, id).await.unwrap().unwrap();
        assert_eq!((known.file.filename.as_deref(), known.file.size, known.chat), (Some("a.md"), 600, None));
        assert_eq!(storage.files().get_bytes(me, id).await.unwrap().unwrap(), [7; 600]);
        assert_eq!(storage.files().count_bytes(me).await.unwrap(), 600);
        let more = NewFile { id: FileId::fresh(), media_type: "image/png", name: None, bytes: &[1; 401] };
        assert!(!storage.files().insert(me, &more, ROOM, NOW).await.unwrap(), "there is no room for it");
        assert!(!is_there(storage, me, more.id).await);

        storage.files().purge(LONG_AGO).await.unwrap();
        assert!(is_there(storage, me, id).await);
        storage.files().purge(LATER).await.unwrap();
        assert!(!is_there(storage, me, id).await);

        let id = keep(storage, me, b"x").await;
        assert!(storage.files().delete_unsent(me, id).await.unwrap());
        assert!(!storage.files().delete_unsent(me, id).await.unwrap());
        assert_eq!(storage.files().count_bytes(me).await.unwrap(), 0);
        fixture.close().await;
    }
}

#[tokio::test]
async fn a_file_stays_for_as_long_as_something_names_it() {
    for fixture in fixtures().await {
        let (me, storage) = (fixture.person().await, &fixture.storage);
        let room = chat(&fixture, me).await;
        let id = keep(storage, me, b"x").await;
        let queued = queue(storage, me, room, id).await.unwrap();
        assert!(!storage.files().delete_unsent(me, id).await.unwrap(), "it waits no longer");
        storage.files().purge(LATER).await.unwrap();
        assert!(is_there(storage, me, id).await, "what waits in a queue names it");

        storage.shares().insert(me, &share(room, vec![id]), 10, &[]).await.unwrap();
        storage.queued_messages().delete(me, room, queued).await.unwrap();
        storage.files().purge(LATER).await.unwrap();
        let (shared, bytes) = storage.files().get_shared(b"hash", id).await.unwrap().unwrap();
        assert_eq!((shared.id, bytes.as_slice()), (id, b"x".as_slice()), "a share names it");
        assert!(storage.files().get_shared(b"other", id).await.unwrap().is_none());

        let shares = storage.shares().list(me).await.unwrap();
        storage.shares().delete(me, shares[0].id, &[]).await.unwrap();
        assert!(storage.files().get_shared(b"hash", id).await.unwrap().is_none());
        storage.files().purge(LATER).await.unwrap();
        assert!(!is_there(storage, me, id).await, "nothing names it any more");
        fixture.close().await;
    }
}

#[tokio::test]
async fn a_deleted_chat_comes_back_with_its_files_and_goes_for_good_with_them() {
    for fixture in fixtures().await {
        let (me, storage) = (fixture.person().await, &fixture.storage);
        let room = chat(&fixture, me).await;
        let row = json!({ "session_id": room, "role": "assistant", "content": "w" });
        let message = MessageId(fixture.put(me, RestTable::Messages, row).await[0]);
        let file = |id| NewFile { id, media_type: "image/png", name: None, bytes: b"x" };
        let (named, lost) = (FileId::fresh(), FileId::fresh());
        for (message, id) in [(message, named), (MessageId::fresh(), lost)] {
            let kept = storage.files().insert_for_message(me, (room, message), &file(id), ROOM, NOW).await;
            assert!(kept.unwrap());
        }
        assert_eq!(storage.files().list(me, room).await.unwrap().len(), 2);

        postgrest::delete_rows(storage, me, NOW, RestTable::Sessions, &[eq("id", room)], &all(), &[]).await.unwrap();
        storage.files().purge(LATER).await.unwrap();
        assert!(!is_there(storage, me, lost).await, "the answer that named it was never written");
        storage.chats().restore(me, room, LONG_AGO).await.unwrap();
        storage.files().purge(LATER).await.unwrap();
        assert!(is_there(storage, me, named).await);

        // A client changes the id of the message, and deletes the chat.
        let other = domain::ids::fresh();
        fixture.update(me, RestTable::Messages, json!({ "id": other }), &[eq("id", message)]).await.unwrap();
        storage.files().purge(LATER).await.unwrap();
        assert!(is_there(storage, me, named).await);
        postgrest::delete_rows(storage, me, NOW, RestTable::Sessions, &[eq("id", room)], &all(), &[]).await.unwrap();
        storage.chats().purge_deleted(LATER).await.unwrap();
        storage.files().purge(LATER).await.unwrap();
        assert!(!is_there(storage, me, named).await);
        let gone = storage.files().insert_for_message(me, (room, message), &file(FileId::fresh()), ROOM, NOW).await;
        assert!(matches!(gone, Err(Error::NotFound)), "{gone:?}");
        fixture.close().await;
    }
}

/// An attempt of another user to reach a file.
#[derive(Debug, Clone, Copy)]
enum Try {
    Read,
    Delete,
    Queue,
    Share,
    Answer,
}

#[test]
fn a_file_of_somebody_else_is_absent_whatever_is_tried() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let fixtures = runtime.block_on(fixtures());
    let tries = prop::sample::select(vec![Try::Read, Try::Delete, Try::Queue, Try::Share, Try::Answer]);
    let config = Config { cases: 24, failure_persistence: None, ..Config::default() };
    let result = TestRunner::new(config).run(&(prop::collection::vec(tries, 1..6), any::<bool>()), |(tries, sent)| {
        runtime.block_on(async {
            for fixture in &fixtures {
                trespass(fixture, &tries, sent).await;
            }
        });
        Ok(())
    });
    for fixture in fixtures {
        runtime.block_on(fixture.close());
    }
    result.unwrap();
}

async fn trespass(fixture: &Fixture, tries: &[Try], sent: bool) {
    let (storage, me, other) = (&fixture.storage, fixture.person().await, fixture.person().await);
    let (mine, theirs) = (chat(fixture, me).await, chat(fixture, other).await);
    let id = keep(storage, other, b"secret").await;
    if sent {
        queue(storage, other, theirs, id).await.unwrap();
    }
    let before = storage.files().get(other, id).await.unwrap();
    for attempt in tries {
        match attempt {
            Try::Read => {
                assert_eq!(storage.files().get(me, id).await.unwrap(), None);
                assert_eq!(storage.files().get_bytes(me, id).await.unwrap(), None);
                assert!(storage.files().list(me, theirs).await.unwrap().is_empty());
            }
            Try::Delete => assert!(!storage.files().delete_unsent(me, id).await.unwrap()),
            Try::Queue => {
                queue(storage, me, mine, id).await.unwrap();
                assert!(queue(storage, me, theirs, id).await.is_err());
            }
            Try::Share => {
                let new = NewShare { token_hash: domain::ids::fresh().as_bytes().to_vec(), ..share(mine, vec![id]) };
                storage.shares().insert(me, &new, 10, &[]).await.unwrap();
                assert!(storage.files().get_shared(&new.token_hash, id).await.unwrap().is_none());
            }
            Try::Answer => {
                let file = NewFile { id, media_type: "image/png", name: None, bytes: b"x" };
                let place = (mine, MessageId::fresh());
                let taken = storage.files().insert_for_message(me, place, &file, ROOM, NOW).await;
                assert!(matches!(taken, Err(Error::Conflict(_))), "{taken:?}");
            }
        }
    }
    assert_eq!(storage.files().count_bytes(me).await.unwrap(), 0);
    assert_eq!(storage.files().get(other, id).await.unwrap(), before);
    assert_eq!(storage.files().get_bytes(other, id).await.unwrap().unwrap(), b"secret");
}
