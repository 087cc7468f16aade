//! Messages between the nodes that share a PostgreSQL database, over `LISTEN` and `NOTIFY`.
//!
//! A message only shortens the delay: every node polls for the same information about once a second, so that nothing is
//! lost with a message.

use std::collections::BTreeSet;
use std::time::Duration;

use domain::{NodeId, Timestamp, TurnId};
use sqlx::postgres::PgListener;
use uuid::Uuid;

use crate::db_macros::{on_connection, read, write};
use crate::{Db, Error, NodeRepository, Storage};

const CHANNEL: &str = "ai_chat_mcp";

/// Sends several messages, one per line of `$1`. PostgreSQL only.
pub(crate) const NOTIFY_ALL_SQL: &str =
    "SELECT pg_notify('ai_chat_mcp', message) FROM unnest(string_to_array($1, chr(10))) AS message";

/// Maximum number of turns that one message names. Longer lists are split.
const MAX_TURNS_PER_MESSAGE: usize = 200;

/// Maximum size of a message in bytes: PostgreSQL accepts less than 8000. A longer text is stored in a row of
/// `node_messages`, and the message names the row.
const MAX_MESSAGE_BYTES: usize = 7_900;

/// Maximum time for the message of [`NodeRepository::check_notifications`](crate::NodeRepository::check_notifications) to
/// arrive.
const CHECK_TIMEOUT: Duration = Duration::from_secs(2);

const INSERT_NODE_MESSAGE_SQL: &str = "INSERT INTO node_messages (id, text, created_at) VALUES ($1, $2, $3)";

const GET_NODE_MESSAGE_SQL: &str = "SELECT text FROM node_messages WHERE id = $1";

const PURGE_NODE_MESSAGES_SQL: &str = "DELETE FROM node_messages WHERE created_at < $1";

/// A message from another node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NodeMessage {
    /// These turns have new events, or have ended.
    Turns(Vec<TurnId>),
    /// A turn has a new [`TurnCommand`](crate::turns::TurnCommand).
    Commands,
    /// Any text of [`NodeRepository::notify`](crate::NodeRepository::notify).
    Text(String),
}

/// Builds the messages that name these turns, as many as needed.
pub(crate) fn turn_messages(turns: &BTreeSet<TurnId>) -> Vec<String> {
    let names: Vec<String> = turns.iter().map(TurnId::to_string).collect();
    names.chunks(MAX_TURNS_PER_MESSAGE).map(|names| format!("turns {}", names.join(" "))).collect()
}

pub(crate) const COMMANDS_MESSAGE: &str = "commands";

/// The content of a message, or the id of the row that holds it.
#[derive(Debug, PartialEq, Eq)]
enum Payload {
    Message(NodeMessage),
    Row(Uuid),
}

// PostgreSQL delivers a notification to its sender, too. Messages that name their sender are ignored below.
fn read_payload(payload: &str, own: NodeId) -> Option<Payload> {
    if payload == COMMANDS_MESSAGE {
        return Some(Payload::Message(NodeMessage::Commands));
    }
    if let Some(turns) = payload.strip_prefix("turns ") {
        return Some(Payload::Message(NodeMessage::Turns(
            turns.split(' ').filter_map(|turn| turn.parse().ok()).collect(),
        )));
    }
    let (kind, rest) = payload.split_once(' ')?;
    let (from, what) = rest.split_once(' ')?;
    match kind {
        _ if from == own.to_string() => None,
        "text" => Some(Payload::Message(NodeMessage::Text(what.to_owned()))),
        "row" => what.parse().ok().map(Payload::Row),
        _ => None,
    }
}

/// A subscription to the messages of the other nodes.
#[derive(Debug)]
pub struct NodeMessageListener {
    inner: PgListener,
    storage: Storage,
}

impl NodeMessageListener {
    /// Waits for the next message. Returns `None` if the connection was lost and restored, so that messages may be
    /// missing.
    pub async fn next(&mut self) -> Result<Option<NodeMessage>, Error> {
        loop {
            let Some(notification) = self.inner.try_recv().await? else { return Ok(None) };
            match read_payload(notification.payload(), self.storage.node) {
                Some(Payload::Message(message)) => return Ok(Some(message)),
                Some(Payload::Row(id)) => {
                    if let Some(text) = self.storage.nodes().get_node_message(id).await? {
                        return Ok(Some(NodeMessage::Text(text)));
                    }
                }
                None => {}
            }
        }
    }
}

impl NodeRepository<'_> {
    /// Subscribes to the messages of the other nodes. Returns `None` for a database that cannot be shared.
    pub async fn listen(self) -> Result<Option<NodeMessageListener>, Error> {
        let Db::Postgres(connections) = &self.storage.db else { return Ok(None) };
        let pool = self.storage.listener.as_ref().unwrap_or(connections.pool());
        let mut inner = PgListener::connect_with(pool).await?;
        inner.listen(CHANNEL).await?;
        Ok(Some(NodeMessageListener { inner, storage: self.storage.clone() }))
    }

    /// Returns whether a message that is sent as to the other nodes arrives where this node listens, within two seconds.
    /// Returns `None` for a database that cannot be shared.
    ///
    /// # Errors
    ///
    /// [`Error::Database`].
    pub async fn check_notifications(self) -> Result<Option<bool>, Error> {
        let (Some(mut listener), Db::Postgres(connections)) = (self.listen().await?, &self.storage.db) else {
            return Ok(None);
        };
        // Of no kind that a node knows, so that nobody acts on it.
        let message = format!("check {}", domain::ids::fresh());
        on_connection!(connections, |c| sqlx::query(NOTIFY_ALL_SQL).bind(&message).execute(c).await).await?;
        let arrival = async {
            loop {
                match listener.inner.recv().await {
                    Ok(notification) if notification.payload() == message => return Ok(true),
                    Ok(_) => {}
                    Err(error) => return Err(error),
                }
            }
        };
        match tokio::time::timeout(CHECK_TIMEOUT, arrival).await {
            Ok(arrived) => Ok(Some(arrived?)),
            Err(_) => Ok(Some(false)),
        }
    }

    /// Sends the other nodes a text of any length, without line breaks. Returns once it is queued.
    ///
    /// # Errors
    ///
    /// [`Error::BacklogFull`] if too many messages wait to be sent.
    pub async fn notify(self, text: &str, now: Timestamp) -> Result<(), Error> {
        if !self.storage.is_shared() {
            return Ok(());
        }
        let payload = format!("text {} {text}", self.storage.node);
        if payload.len() <= MAX_MESSAGE_BYTES {
            return if self.storage.queue_message(payload) { Ok(()) } else { Err(Error::BacklogFull) };
        }
        let id = domain::ids::fresh();
        write!(self.storage, |c| sqlx::query(INSERT_NODE_MESSAGE_SQL)
            .bind(id)
            .bind(text)
            .bind(now.0)
            .execute(c)
            .await
            .map(|done| done.rows_affected()))?;
        // The row is committed by now. A message about it that arrived earlier would find nothing.
        if self.storage.queue_message(format!("row {} {id}", self.storage.node)) {
            Ok(())
        } else {
            Err(Error::BacklogFull)
        }
    }

    async fn get_node_message(self, id: Uuid) -> Result<Option<String>, Error> {
        Ok(read!(self.storage, |c| sqlx::query_scalar(GET_NODE_MESSAGE_SQL).bind(id).fetch_optional(c).await)?)
    }

    /// Deletes long messages sent before `before`. A node that has not read them by then reloads its state anyway.
    pub async fn purge_messages(self, before: Timestamp) -> Result<(), Error> {
        write!(self.storage, |c| sqlx::query(PURGE_NODE_MESSAGES_SQL)
            .bind(before.0)
            .execute(c)
            .await
            .map(|done| done.rows_affected()))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_own_format_and_skips_own_messages() {
        let (own, other, turn) = (NodeId::fresh(), NodeId::fresh(), TurnId::fresh());
        let message = |payload: &str| match read_payload(payload, own) {
            Some(Payload::Message(message)) => Some(message),
            _ => None,
        };
        assert_eq!(turn_messages(&BTreeSet::new()), Vec::<String>::new());
        assert_eq!(message(&turn_messages(&[turn].into())[0]), Some(NodeMessage::Turns(vec![turn])));
        let many: BTreeSet<TurnId> = (0..450).map(|_| TurnId::fresh()).collect();
        let notification: Vec<String> = turn_messages(&many);
        assert!(notification.len() == 3 && notification.iter().all(|payload| payload.len() <= MAX_MESSAGE_BYTES));
        let received = notification.iter().filter_map(|payload| message(payload)).flat_map(|message| match message {
            NodeMessage::Turns(turns) => turns,
            _ => Vec::new(),
        });
        assert_eq!(received.collect::<BTreeSet<TurnId>>(), many);
        assert_eq!(message(COMMANDS_MESSAGE), Some(NodeMessage::Commands));
        assert_eq!(message(&format!("text {other} a b")), Some(NodeMessage::Text("a b".to_owned())));
        assert_eq!(read_payload(&format!("text {own} a b"), own), None);
        let row = domain::ids::fresh();
        assert_eq!(read_payload(&format!("row {other} {row}"), own), Some(Payload::Row(row)));
        assert_eq!(read_payload(&format!("row {own} {row}"), own), None);
        assert_eq!(read_payload("something of a later version", own), None);
    }
}
