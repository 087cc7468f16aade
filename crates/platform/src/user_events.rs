//! Events for the open clients of a user: connections that change, turns that begin, wait and end, chats that change.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use domain::json::to_json_text;
use domain::message::MessageStatus;
use domain::{AwaitedInteraction, ChatId, ServerId, TurnId, UserId};
use serde::Serialize;
use serde_json::value::RawValue;
use storage::chat_settings::ChatMarks;
use tokio::sync::broadcast;

use crate::cluster_bus::{ClusterBus, ClusterMessage};

/// Maximum number of events that a subscriber may be behind. The stream of a slower one ends; it reconnects and reloads.
const MAX_SUBSCRIBER_BACKLOG: usize = 256;

/// An event for the open clients of a user.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum UserEvent {
    /// A connection changed its state or its tools.
    Connection {
        /// The connection as `GET /api/connections` returns it, as JSON.
        connection: Box<RawValue>,
    },
    /// A connection was removed.
    ConnectionRemoved {
        /// The connection.
        id: ServerId,
    },
    /// A resource changed to which a client has subscribed.
    ResourceChanged {
        /// The connection that offers the resource.
        connection_id: ServerId,
        /// URI of the resource.
        uri: String,
    },
    /// A turn began, began to wait for its user, continued or ended.
    Turn {
        /// Chat of the turn.
        session_id: ChatId,
        /// The turn.
        turn_id: TurnId,
        /// State after the change.
        state: TurnState,
        /// What a waiting turn waits for. Absent if it has just been answered.
        #[serde(skip_serializing_if = "Option::is_none")]
        waiting_for: Option<AwaitedInteraction>,
        /// How a turn ended.
        #[serde(skip_serializing_if = "Option::is_none")]
        outcome: Option<MessageStatus>,
    },
    /// Another branch of a chat became the current one.
    Branch {
        /// The chat.
        session_id: ChatId,
    },
    /// The queued messages of a chat changed.
    Queue {
        /// The chat.
        session_id: ChatId,
    },
    /// A session of the user ended, or all of them with the account.
    Devices,
    /// A chat was created, renamed or deleted.
    Session {
        /// The chat, if only one is concerned.
        #[serde(skip_serializing_if = "Option::is_none")]
        session_id: Option<ChatId>,
        /// The marks of the chat, if they may have changed.
        #[serde(flatten)]
        marks: Option<ChatMarks>,
    },
}

/// State of a turn.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TurnState {
    /// The turn is running.
    Started,
    /// The turn is running, and a call waits for an approval, an answer or a sign-in of its user.
    Waiting,
    /// The turn has ended and its answer is stored.
    Ended,
}

/// A bus of [`UserEvent`]s, from all nodes to the subscribers of one node.
#[derive(Debug, Clone, Default)]
pub struct UserEventBus(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    cluster: ClusterBus,
    subscribers: Mutex<HashMap<UserId, broadcast::Sender<Arc<str>>>>,
}

impl UserEvent {
    /// [`UserEvent::Devices`] as JSON.
    pub const DEVICES_JSON: &str = r#"{"type":"devices"}"#;

    /// Returns the event of a chat that was created, changed or deleted and whose marks are unchanged.
    pub fn of_chat(chat: ChatId) -> Self {
        Self::Session { session_id: Some(chat), marks: None }
    }

    /// Returns the event of a turn that has begun or continues.
    pub fn of_started(chat: ChatId, turn: TurnId) -> Self {
        Self::Turn { session_id: chat, turn_id: turn, state: TurnState::Started, waiting_for: None, outcome: None }
    }

    /// Returns the event of a turn that waits for its user.
    pub fn of_waiting(chat: ChatId, turn: TurnId, waiting_for: Option<AwaitedInteraction>) -> Self {
        Self::Turn { session_id: chat, turn_id: turn, state: TurnState::Waiting, waiting_for, outcome: None }
    }

    /// Returns the event of a turn that has ended.
    pub fn of_ended(chat: ChatId, turn: TurnId, outcome: MessageStatus) -> Self {
        let outcome = Some(outcome);
        Self::Turn { session_id: chat, turn_id: turn, state: TurnState::Ended, waiting_for: None, outcome }
    }
}

impl UserEventBus {
    /// Creates a bus that also publishes to the other nodes.
    pub fn new(cluster: ClusterBus) -> Self {
        Self(Arc::new(Inner { cluster, subscribers: Mutex::default() }))
    }

    /// Publishes an event to the subscribers of a user on all nodes.
    pub fn publish(&self, user: UserId, event: &UserEvent) {
        let encoded = to_json_text(event);
        // Encoded once, for this node's subscribers and for the other nodes.
        if self.has_subscribers(user) {
            self.publish_local(user, &encoded.as_str().into());
        }
        self.0.cluster.publish(|| ClusterMessage::UserEvent { user, event: encoded });
    }

    /// Publishes an encoded event to the subscribers of a user on this node.
    pub fn publish_local(&self, user: UserId, event: &Arc<str>) {
        let mut subscribers = self.0.subscribers.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(sender) = subscribers.get(&user) else { return };
        // Fails only without receivers: the last client has disconnected.
        if sender.send(Arc::clone(event)).is_err() {
            subscribers.remove(&user);
        }
    }

    /// Ends all streams of this node because events may have been lost. Clients reconnect and reload.
    pub fn disconnect_all(&self) {
        self.0.subscribers.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Returns whether a client of the user is subscribed on this node.
    pub fn has_subscribers(&self, user: UserId) -> bool {
        let subscribers = self.0.subscribers.lock().unwrap_or_else(PoisonError::into_inner);
        subscribers.get(&user).is_some_and(|sender| sender.receiver_count() > 0)
    }

    /// Ends the streams of a user whose account is deleted, after the events that are already published.
    pub fn disconnect(&self, user: UserId) {
        self.0.subscribers.lock().unwrap_or_else(PoisonError::into_inner).remove(&user);
    }

    /// Returns a receiver of the events published from now on, as JSON.
    pub fn subscribe(&self, user: UserId) -> broadcast::Receiver<Arc<str>> {
        let mut subscribers = self.0.subscribers.lock().unwrap_or_else(PoisonError::into_inner);
        subscribers.entry(user).or_insert_with(|| broadcast::Sender::new(MAX_SUBSCRIBER_BACKLOG)).subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn delivers_events_only_to_their_user() {
        let events = UserEventBus::default();
        let (one, other) = (UserId::fresh(), UserId::fresh());
        let (mut mine, mut theirs) = (events.subscribe(one), events.subscribe(other));
        events.publish(one, &UserEvent::Session { session_id: None, marks: None });
        let marks = Some(ChatMarks { pinned: true, archived: false });
        events.publish(one, &UserEvent::Session { session_id: None, marks });
        assert_eq!(&*mine.recv().await.unwrap(), r#"{"type":"session"}"#);
        assert_eq!(&*mine.recv().await.unwrap(), r#"{"type":"session","pinned":true,"archived":false}"#);
        let connection = RawValue::from_string(r#"{"name":"b","id":"a"}"#.to_owned()).unwrap();
        events.publish(one, &UserEvent::Connection { connection });
        assert_eq!(
            &*mine.recv().await.unwrap(),
            r#"{"type":"connection","connection":{"name":"b","id":"a"}}"#,
            "the payload keeps its order"
        );
        events.publish(one, &UserEvent::Devices);
        assert_eq!(&*mine.recv().await.unwrap(), UserEvent::DEVICES_JSON);
        events.disconnect(one);
        assert!(mine.recv().await.is_err());
        assert!(theirs.try_recv().is_err());
    }
}
