//! Chats, messages and files of the fixture 0100.

use domain::attachment::Attached;
use domain::message::{Part, Role};
use domain::resource::ResourceContents;
use domain::tool::Outcome;
use domain::{AttachmentId, ChatId, FileId, MessageId, QueuedId, ShareId};
use serde_json::json;
use storage::Storage;
use storage::branches::Fork;
use storage::chat_settings::ChatMarks;
use uuid::Uuid;

use crate::migrations::{ADA, CHAT, at};

/// The deleted chat.
const DELETED_CHAT: ChatId = ChatId(Uuid::from_u128(0x18));
/// The file of the first message, which is shared as well.
const FILE: FileId = FileId(Uuid::from_u128(0x17));
/// The first message.
const QUESTION: MessageId = MessageId(Uuid::from_u128(0xb));
/// Its answer on the active branch.
const ANSWER: MessageId = MessageId(Uuid::from_u128(0x1d));
/// The failed answer that was replaced.
const FAILED_ANSWER: MessageId = MessageId(Uuid::from_u128(0x1e));
/// Hash of the token of the share.
const SHARE_HASH: [u8; 2] = [0x62, 0xff];

pub async fn check(storage: &Storage) {
    check_messages(storage).await;
    check_branches(storage).await;
    check_settings(storage).await;
    check_queued_messages(storage).await;
    check_shares(storage).await;
    check_files(storage).await;
    check_attachments(storage).await;
    check_search(storage).await;
}

async fn check_messages(storage: &Storage) {
    assert_eq!(storage.chats().get(ADA, CHAT).await.unwrap().unwrap().title, "A chat");
    assert!(storage.chats().get(ADA, DELETED_CHAT).await.unwrap().is_none());
    let messages = storage.chats().list_messages(ADA, CHAT, 10).await.unwrap();
    let [question, answer] = messages.as_slice() else { panic!("{messages:?}") };
    assert_eq!((question.id, question.role, question.created_at), (QUESTION, Role::User, at(39)));
    assert_eq!(question.content, "Hello");
    let [Part::File(file)] = question.parts.as_slice() else { panic!("{:?}", question.parts) };
    assert_eq!((file.id, file.filename.as_deref(), file.size), (FILE, Some("notes.txt"), 2));
    assert_eq!((answer.id, answer.role, answer.created_at), (ANSWER, Role::Assistant, at(40)));
    assert_eq!(answer.content, "Good morning");
    check_answer_parts(&answer.parts);
}

fn check_answer_parts(parts: &[Part]) {
    let [reasoning, Part::ToolCall { call }, text] = parts else { panic!("{parts:?}") };
    assert_eq!(*reasoning, Part::Reasoning { text: "A greeting".to_owned(), signature: None });
    assert_eq!(*text, Part::Text { text: "Good morning".to_owned() });
    assert_eq!((call.id.as_str(), call.name.as_str(), call.server_name.as_str()), ("call", "search", "Server"));
    assert_eq!((call.outcome, call.duration_ms), (Outcome::Done, 12));
    assert_eq!(call.arguments, json!({ "query": "weather" }));
    assert_eq!(call.result.as_ref().unwrap().to_model_text(), "Sunny");
}

async fn check_branches(storage: &Storage) {
    let forks = storage.branches().list_forks(ADA, CHAT).await.unwrap();
    assert_eq!(forks, [Fork { message: ANSWER, branches: vec![ANSWER, FAILED_ANSWER] }]);
    let inactive = storage.branches().list_inactive(ADA, CHAT).await.unwrap();
    let [failed] = inactive.as_slice() else { panic!("{inactive:?}") };
    assert_eq!((failed.id, failed.session_id), (FAILED_ANSWER.0, CHAT.0));
    assert_eq!((failed.parent_id, failed.created_at), (Some(QUESTION.0), at(41).0));
    assert_eq!((failed.role.as_str(), failed.content.as_str()), ("assistant", "Good"));
    assert_eq!((failed.status.as_deref(), failed.model.as_deref()), (Some("failed"), Some("openai/mini")));
    assert_eq!(failed.error.as_deref(), Some("The provider is unreachable."));
    assert_eq!(failed.parts.as_deref(), Some(r#"[{"type":"text","text":"Good"}]"#));
}

async fn check_settings(storage: &Storage) {
    let marks = ChatMarks { pinned: true, archived: true };
    assert_eq!(storage.chat_settings().list(ADA).await.unwrap(), [(CHAT, marks)]);
    assert_eq!(storage.models().get_of_chat(ADA, CHAT).await.unwrap().as_deref(), Some("openai/gpt"));
    let settings = storage.models().get_chat_settings(ADA, CHAT).await.unwrap();
    assert_eq!(settings.max_tokens, Some(100));
}

async fn check_queued_messages(storage: &Storage) {
    let queued = storage.queued_messages().list(ADA, CHAT).await.unwrap();
    let [message] = queued.as_slice() else { panic!("{queued:?}") };
    assert_eq!((message.id, message.content.as_str()), (QueuedId(Uuid::from_u128(0xc)), "Later"));
    assert_eq!(message.parts, [Part::Text { text: "Later".to_owned() }]);
    assert_eq!(message.tools, json!([{ "name": "search", "serverName": "Server" }]));
}

async fn check_shares(storage: &Storage) {
    let shares = storage.shares().list(ADA).await.unwrap();
    let [share] = shares.as_slice() else { panic!("{shares:?}") };
    assert_eq!((share.id, share.chat), (ShareId(Uuid::from_u128(0xd)), CHAT));
    assert_eq!((share.title.as_str(), share.created_at), ("A shared chat", at(49)));
    assert_eq!((share.count, share.tools), (1, true));
    let snapshot = storage.shares().get_snapshot(&SHARE_HASH).await.unwrap().unwrap();
    assert_eq!((snapshot.title.as_str(), snapshot.created_at), ("A shared chat", at(49)));
    assert_eq!(snapshot.messages, r#"[{"role":"user","content":"Hello"}]"#);
}

async fn check_files(storage: &Storage) {
    let files = storage.files().list(ADA, CHAT).await.unwrap();
    let [stored] = files.as_slice() else { panic!("{files:?}") };
    assert_eq!((stored.file.id, stored.file.size, stored.chat), (FILE, 2, Some(CHAT)));
    assert_eq!(stored.file.media_type, "text/plain");
    assert_eq!(stored.file.filename.as_deref(), Some("notes.txt"));
    // Files from before 0130 are in the database.
    assert_eq!(storage.files().get_bytes(ADA, FILE).await.unwrap(), Some(vec![0xa1, 0xff]));
    assert_eq!(storage.files().count_bytes(ADA).await.unwrap(), 2);
    let shared = storage.files().get_shared(&SHARE_HASH, FILE).await.unwrap();
    assert_eq!(shared, Some((stored.file.clone(), vec![0xa1, 0xff])));
}

async fn check_attachments(storage: &Storage) {
    let id = AttachmentId(Uuid::from_u128(0xe));
    let attachment = storage.attachments().get(ADA, id).await.unwrap().unwrap();
    assert_eq!((attachment.server_name.as_str(), attachment.name.as_str()), ("Server", "readme"));
    let uri = "file:///readme".to_owned();
    let item = ResourceContents { uri: uri.clone(), text: Some("Read me".to_owned()), ..ResourceContents::default() };
    assert_eq!(attachment.content, Attached::Resource { uri, contents: vec![item] });
}

/// Checks that texts of the fixture are found by the words that are stored with them.
async fn check_search(storage: &Storage) {
    let found = storage.search().query(ADA, "chat", None).await.unwrap();
    let titles: Vec<_> = found.titles.iter().map(|hit| (hit.chat, hit.title.text.as_str(), hit.updated_at)).collect();
    assert_eq!(titles, [(CHAT, "A chat", at(38))]);
    let found = storage.search().query(ADA, "morning", None).await.unwrap();
    let messages: Vec<_> = found.messages.iter().map(|hit| (hit.message, hit.created_at)).collect();
    assert_eq!(messages, [(ANSWER, at(40))]);
    let found = storage.search().query(ADA, "goodbye", None).await.unwrap();
    assert!(found.messages.is_empty(), "a message of a deleted chat is found");
}
