//! Messages of a chat are in the order in which they were sent, independent of nodes and their clocks.

use domain::message::{MessageStatus, Part};
use domain::{ChatId, Timestamp, UserId};
use futures_util::future::join;
use storage::chats::{Answer, NewTurn};
use storage::turns::{Chunk, TurnCommand};
use storage::{Error, Storage};
use testkit::{TestApp, databases, new_turn};

use crate::nodes::{Fixture, MODEL};

async fn finish(storage: &Storage, turn: &NewTurn, text: &str, now: Timestamp) -> Result<bool, Error> {
    let parts = vec![Part::Text { text: text.to_owned() }];
    let (status, model) = (MessageStatus::Done, MODEL.to_owned());
    let answer = Answer { id: turn.answer, parts, status, error: None, model, costs: Vec::new() };
    storage.chats().finish_turn(turn.owner, turn.chat, turn.id, &answer, None, now).await
}

async fn said(storage: &Storage, owner: UserId, chat: ChatId) -> Vec<String> {
    let messages = storage.chats().list_messages(owner, chat, 1_000).await.unwrap();
    messages.into_iter().map(|message| message.content).collect()
}

#[tokio::test]
async fn clocks_of_nodes_may_differ() {
    for database in databases() {
        let app = TestApp::builder().database(database).start().await;
        let person = app.person().await;
        let (owner, chat) = (person.id.parse().unwrap(), person.new_chat().await.parse().unwrap());
        let (storage, now) = (&app.state.storage, app.state.clock.now());
        // Each clock is a minute behind the previous one.
        let first = new_turn(owner, chat, "one", now);
        storage.chats().insert_turn(&first, "one").await.unwrap();
        assert!(finish(storage, &first, "One.", now.plus_seconds(-60)).await.unwrap());
        let second = new_turn(owner, chat, "two", now.plus_seconds(-120));
        storage.chats().insert_turn(&second, "two").await.unwrap();
        assert!(finish(storage, &second, "Two.", now.plus_seconds(-180)).await.unwrap());
        assert_eq!(said(storage, owner, chat).await, ["one", "One.", "two", "Two."]);
        app.stop().await;
    }
}

#[tokio::test]
async fn a_turn_that_begins_while_another_node_ends_the_one_before_stands_behind_it() {
    let Some(fixture) = Fixture::new([]).await else { return };
    let (owner, chat) = (fixture.person.id.parse().unwrap(), fixture.chat.parse().unwrap());
    let (here, there, clock) = (&fixture.here.state.storage, &fixture.there.state.storage, &fixture.here.state.clock);
    let (mut expected, mut present) = (vec!["0".to_owned()], new_turn(owner, chat, "0", clock.now()));
    here.chats().insert_turn(&present, "0").await.unwrap();
    for number in 1..=40 {
        // The time was read before the answer was stored, as if the request had waited for a connection.
        let next = new_turn(owner, chat, &number.to_string(), clock.now());
        let (ended, begun) =
            join(finish(here, &present, "answer", clock.now()), there.chats().insert_turn(&next, "")).await;
        assert!(ended.unwrap());
        expected.push("answer".to_owned());
        match begun {
            Ok(Some(_)) => {
                assert!(finish(there, &next, "answer", clock.now()).await.unwrap());
                expected.extend([number.to_string(), "answer".to_owned()]);
            }
            Err(Error::Conflict(_)) => {}
            other => panic!("{other:?}"),
        }
        assert_eq!(said(here, owner, chat).await, expected);
        present = new_turn(owner, chat, "again", clock.now());
        here.chats().insert_turn(&present, "").await.unwrap();
        expected.push("again".to_owned());
    }
    fixture.stop().await;
}

#[tokio::test]
async fn an_end_that_was_written_already_leaves_the_chat_as_it_is() {
    for database in databases() {
        let app = TestApp::builder().database(database).start().await;
        let person = app.person().await;
        let id = person.new_chat().await;
        let (owner, chat) = (person.id.parse().unwrap(), id.parse().unwrap());
        let (storage, now) = (&app.state.storage, app.state.clock.now());
        let turn = new_turn(owner, chat, "one", now);
        storage.chats().insert_turn(&turn, "one").await.unwrap();
        assert!(finish(storage, &turn, "One.", now.plus_seconds(60)).await.unwrap());
        let path = format!("/rest/v1/ai_chat_sessions?id=eq.{id}&select=updated_at");
        let ended = person.get(&path).await;
        assert!(!finish(storage, &turn, "Another.", now.plus_seconds(120)).await.unwrap());
        assert_eq!(person.get(&path).await, ended);
        assert_eq!(said(storage, owner, chat).await, ["one", "One."]);
        app.stop().await;
    }
}

#[tokio::test]
async fn the_log_of_a_turn_is_there_a_while_after_its_end_and_then_goes() {
    let Some(fixture) = Fixture::new([]).await else { return };
    let (owner, chat) = (fixture.person.id.parse().unwrap(), fixture.chat.parse().unwrap());
    let (storage, now) = (&fixture.here.state.storage, fixture.here.state.clock.now());
    let turn = new_turn(owner, chat, "one", now);
    storage.chats().insert_turn(&turn, "one").await.unwrap();
    storage.turns().send_command(owner, chat, &TurnCommand::Refresh).await.unwrap();
    let chunk = Chunk { turn: turn.id, seq: 1, payload: "1\t{}\n".to_owned() };
    storage.turns().insert_chunks(&[chunk]).await.unwrap();
    assert!(finish(storage, &turn, "One.", now).await.unwrap());
    assert!(storage.turns().list_commands().await.unwrap().is_empty());
    let left = async || storage.turns().list_chunks(owner, turn.id).await.unwrap().len();
    storage.turns().purge_ended(now).await.unwrap();
    assert_eq!(left().await, 1);
    storage.turns().purge_ended(now.plus_seconds(1)).await.unwrap();
    assert_eq!(left().await, 0);
    fixture.stop().await;
}
