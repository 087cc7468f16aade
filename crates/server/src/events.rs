//! What open pages are told: connections that change, turns that begin, wait and end, chats that come and go.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use domain::{ChatId, RunId, ServerId, UserId};
use serde::Serialize;
use store::marks::Marks;
use tokio::sync::broadcast;

use crate::nodes::{Post, Told};
use crate::tools::ConnectionView;

/// How many events a page may be behind. One that is further behind is cut off; it connects again and loads afresh.
const BACKLOG: usize = 256;

/// News for a person's open pages.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Event {
    /// A connection changed its state or its tools.
    Connection {
        /// What it is now.
        connection: Box<ConnectionView>,
    },
    /// A connection was removed.
    ConnectionRemoved {
        /// Which one.
        id: ServerId,
    },
    /// A resource changed that a page wants to hear of.
    ResourceChanged {
        /// The connection it belongs to.
        connection_id: ServerId,
        /// Which one.
        uri: String,
    },
    /// A turn began, began to wait for its user, went on or ended.
    Run {
        /// Its chat.
        session_id: ChatId,
        /// The run.
        run_id: RunId,
        /// Where it is now.
        state: RunState,
    },
    /// Another branch of a chat is the present one.
    Branch {
        /// Which chat.
        session_id: ChatId,
    },
    /// What waits in a chat has changed.
    Queue {
        /// Which chat.
        session_id: ChatId,
    },
    /// A sign-in of the person was ended, or all with the account.
    Devices,
    /// A chat was made, renamed or deleted.
    Session {
        /// Which one, where only one is concerned.
        #[serde(skip_serializing_if = "Option::is_none")]
        session_id: Option<ChatId>,
        /// Its marks, where they may have changed.
        #[serde(flatten)]
        marks: Option<Marks>,
    },
}

/// Where a run is.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    /// It goes on.
    Started,
    /// It goes on and needs its user: a call waits for an approval, an answer or a sign-in.
    Waiting,
    /// It has an end; its answer is stored.
    Ended,
}

/// Where events go in and come out.
#[derive(Debug, Default)]
pub struct Events {
    /// To the pages that are connected to other nodes.
    others: Post,
    pages: Mutex<HashMap<UserId, broadcast::Sender<Arc<str>>>>,
}

impl Event {
    /// [`Event::Devices`] as it is published.
    pub const DEVICES: &str = r#"{"type":"devices"}"#;

    /// Returns that a chat was made, changed or deleted, and its marks are what they were.
    pub fn of_chat(chat: ChatId) -> Self {
        Self::Session { session_id: Some(chat), marks: None }
    }

    /// Returns the state of a turn that goes on.
    pub fn of_running(chat: ChatId, run: RunId, is_waiting: bool) -> Self {
        let state = if is_waiting { RunState::Waiting } else { RunState::Started };
        Self::Run { session_id: chat, run_id: run, state }
    }

    /// Encodes the event as pages read it. `None` where it cannot be encoded, which is logged.
    pub fn to_json(&self) -> Option<String> {
        serde_json::to_string(self)
            .inspect_err(|error| tracing::error!(%error, "an event for a user's pages could not be encoded"))
            .ok()
    }
}

impl Events {
    /// Tells the other nodes, too.
    pub fn new(others: Post) -> Self {
        Self { others, pages: Mutex::default() }
    }

    /// Tells a person's open pages, wherever they are connected. With none open, nothing happens.
    pub fn publish(&self, user: UserId, event: &Event) {
        let Some(encoded) = event.to_json() else { return };
        if self.is_followed(user) {
            self.publish_here(user, &encoded.as_str().into());
        }
        self.others.tell(|| Told::Event { user, event: encoded });
    }

    /// Tells the pages that are connected to this node.
    pub fn publish_here(&self, user: UserId, event: &Arc<str>) {
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(sender) = pages.get(&user) else { return };
        if sender.send(Arc::clone(event)).is_err() {
            pages.remove(&user);
        }
    }

    /// Ends all streams: something may have been missed. Pages come back and load afresh.
    pub fn begin_anew(&self) {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Whether a page of the person's is open.
    pub fn is_followed(&self, user: UserId) -> bool {
        let pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        pages.get(&user).is_some_and(|sender| sender.receiver_count() > 0)
    }

    /// Ends the streams of a person whose account is gone, after what was published.
    pub fn end(&self, user: UserId) {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner).remove(&user);
    }

    /// Returns the events that are published from now on, as JSON.
    pub fn subscribe(&self, user: UserId) -> broadcast::Receiver<Arc<str>> {
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        pages.entry(user).or_insert_with(|| broadcast::Sender::new(BACKLOG)).subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_the_person_concerned_is_told() {
        let events = Events::default();
        let (one, other) = (UserId::fresh(), UserId::fresh());
        let (mut mine, mut theirs) = (events.subscribe(one), events.subscribe(other));
        events.publish(one, &Event::Session { session_id: None, marks: None });
        let marks = Some(Marks { pinned: true, archived: false });
        events.publish(one, &Event::Session { session_id: None, marks });
        assert_eq!(&*mine.recv().await.unwrap(), r#"{"type":"session"}"#);
        assert_eq!(&*mine.recv().await.unwrap(), r#"{"type":"session","pinned":true,"archived":false}"#);
        events.publish(one, &Event::Devices);
        assert_eq!(&*mine.recv().await.unwrap(), Event::DEVICES);
        events.end(one);
        assert!(mine.recv().await.is_err());
        assert!(theirs.try_recv().is_err());
    }
}
