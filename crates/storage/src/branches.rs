//! Branches of a chat. The messages form a tree; one path from its root to a leaf is the active branch.
//!
//! The messages of the active branch are ordered by time, and each implicitly follows the one before it. Clients of the
//! data API see only these. All other messages are inactive: they have `inactive_since` set and name their predecessor in
//! `parent_id`.

use std::collections::{HashMap, HashSet};

use domain::message::Role;
use domain::{ChatId, MessageId, Timestamp, UserId};
use uuid::Uuid;

use crate::db_macros::{read, transaction};
use crate::{BranchRepository, Error};

pub(crate) const LIST_NODES: &str = "SELECT m.id, m.role, m.parent_id, m.inactive_since FROM ai_chat_messages m
    JOIN existing_chats s ON s.id = m.session_id
    WHERE m.session_id = $1 AND s.user_id = $2 ORDER BY m.created_at, m.id";

pub(crate) const GET_PARTS: &str = "SELECT m.parts FROM ai_chat_messages m JOIN existing_chats s ON s.id = m.session_id
    WHERE m.id = $1 AND s.user_id = $2";

pub(crate) const MOVE_MESSAGE: &str =
    "UPDATE ai_chat_messages SET parent_id = :parent, inactive_since = :inactive_since
    WHERE id = :id AND session_id IN (SELECT id FROM existing_chats WHERE id = :chat AND user_id = :owner)";

const IS_BRANCHED: &str = "SELECT COUNT(*) FROM ai_chat_messages m JOIN existing_chats s ON s.id = m.session_id
    WHERE m.session_id = $1 AND s.user_id = $2 AND m.inactive_since IS NOT NULL";

const IS_ANSWERED: &str = "SELECT COUNT(*) FROM turns WHERE session_id = $1 AND user_id = $2 AND status = 'running'";

const LIST_ASIDE: &str =
    "SELECT m.id, m.session_id, m.role, m.content, m.tool_calls, m.parts, m.status, m.error, m.model,
      m.created_at, m.parent_id
    FROM ai_chat_messages m JOIN existing_chats s ON s.id = m.session_id
    WHERE m.session_id = $1 AND s.user_id = $2 AND m.inactive_since IS NOT NULL ORDER BY m.created_at, m.id";

/// The position at which a turn begins in its chat.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TurnPosition {
    /// After the last message.
    #[default]
    End,
    /// In place of a message, which becomes inactive together with all later ones. A user message is replaced by an
    /// edited one, an assistant message by a new response.
    Replace(MessageId),
    /// After the last assistant message, which was interrupted, to continue it.
    Continue(MessageId),
}

impl TurnPosition {
    pub(crate) fn message(self) -> Option<MessageId> {
        match self {
            Self::End => None,
            Self::Replace(id) | Self::Continue(id) => Some(id),
        }
    }
}

/// A message as a node of the tree.
#[derive(Debug, Clone, sqlx::FromRow)]
pub(crate) struct Node {
    id: Uuid,
    role: String,
    parent_id: Option<Uuid>,
    inactive_since: Option<i64>,
}

impl Node {
    fn is_present(&self) -> bool {
        self.inactive_since.is_none()
    }
}

/// The changes of the active branch: messages that leave it, each with its predecessor, and messages that return to it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Moves {
    pub(crate) leave: Vec<(Uuid, Option<Uuid>)>,
    pub(crate) come: Vec<Uuid>,
}

/// Applies [`Moves`] within a transaction.
macro_rules! make {
    ($tx:ident, $moves:expr, $chat:expr, $owner:expr, $now:expr) => {
        let moves: $crate::branches::Moves = $moves;
        let leave = moves.leave.into_iter().map(|(id, parent)| (id, parent, Some($now.0)));
        let come = moves.come.into_iter().map(|id| (id, None, None));
        for (id, parent, aside) in leave.chain(come) {
            $crate::named_values::query_named!(
                $crate::branches::MOVE_MESSAGE,
                id = id,
                parent = parent,
                inactive_since = aside,
                chat = $chat.0,
                owner = $owner.0
            )
            .execute(&mut *$tx)
            .await?;
        }
    };
}
pub(crate) use make;

/// Returns the changes of the active branch for a turn that begins at `place`, or `None` if it cannot begin there.
/// `has_words` is set if the turn brings a new user message.
pub(crate) fn begin(nodes: &[Node], place: TurnPosition, has_words: bool) -> Option<Moves> {
    let present: Vec<&Node> = nodes.iter().filter(|node| node.is_present()).collect();
    let is_user = |node: &Node| node.role == Role::User.as_str();
    let at = present.iter().position(|node| place.message().is_some_and(|id| node.id == id.0));
    let from = match (place, at) {
        // A user message can only be replaced by a new user message, and a response only without one.
        (TurnPosition::End, _) => present.len(),
        (TurnPosition::Replace(_), Some(at)) if is_user(present[at]) == has_words => {
            // A continued response consists of several messages that follow the same user message. All of them are
            // replaced.
            if has_words { at } else { present[..at].iter().rposition(|node| is_user(node))? + 1 }
        }
        // Only the last message can be continued.
        (TurnPosition::Continue(_), Some(at)) if at + 1 == present.len() && !is_user(present[at]) && !has_words => {
            present.len()
        }
        (TurnPosition::Replace(_) | TurnPosition::Continue(_), _) => return None,
    };
    Some(Moves { leave: leaving(&present, |index, _| index >= from), come: Vec::new() })
}

// A leaving message records its predecessor, because its position is no longer implied by the order.
fn leaving(present: &[&Node], leaves: impl Fn(usize, &Node) -> bool) -> Vec<(Uuid, Option<Uuid>)> {
    let mut parent = None;
    let mut leave = Vec::new();
    for (index, node) in present.iter().enumerate() {
        if leaves(index, node) {
            leave.push((node.id, parent));
        }
        parent = Some(node.id);
    }
    leave
}

/// The tree of messages. In the active branch only the order defines the predecessors.
struct Tree<'a> {
    nodes: &'a [Node],
    parents: HashMap<Uuid, Option<Uuid>>,
    children: HashMap<Option<Uuid>, Vec<&'a Node>>,
}

impl<'a> Tree<'a> {
    fn new(nodes: &'a [Node]) -> Self {
        let known: HashSet<Uuid> = nodes.iter().map(|node| node.id).collect();
        let mut tree = Self { nodes, parents: HashMap::new(), children: HashMap::new() };
        let mut before = None;
        for node in nodes {
            // A client may have deleted the predecessor through the data API. The message then begins the chat.
            let parent =
                if node.is_present() { before } else { node.parent_id.filter(|parent| known.contains(parent)) };
            if node.is_present() {
                before = Some(node.id);
            }
            tree.parents.insert(node.id, parent);
            tree.children.entry(parent).or_default().push(node);
        }
        tree
    }

    /// Returns the path through a message: up to the root, and down to the leaf that was active last.
    fn path(&self, through: Uuid) -> HashSet<Uuid> {
        let mut path = HashSet::new();
        let mut at = Some(through);
        // `insert` also ends the loop if stored predecessors form a circle.
        while let Some(id) = at.filter(|id| path.insert(*id)) {
            at = self.parents.get(&id).copied().flatten();
        }
        let mut at = through;
        // The active child, or else the one that became inactive last.
        let seen = |node: &&&Node| (node.is_present(), node.inactive_since, node.id);
        while let Some(child) = self.children.get(&Some(at)).and_then(|children| children.iter().max_by_key(seen)) {
            if !path.insert(child.id) {
                break;
            }
            at = child.id;
        }
        path
    }
}

/// Returns the changes that bring a message into the active branch, or `None` if there is no such message.
fn switch(nodes: &[Node], to: MessageId) -> Option<Moves> {
    let target = nodes.iter().find(|node| node.id == to.0)?;
    if target.is_present() {
        return Some(Moves::default());
    }
    let path = Tree::new(nodes).path(to.0);
    let present: Vec<&Node> = nodes.iter().filter(|node| node.is_present()).collect();
    let come = nodes.iter().filter(|node| !node.is_present() && path.contains(&node.id)).map(|node| node.id);
    Some(Moves { leave: leaving(&present, |_, node| !path.contains(&node.id)), come: come.collect() })
}

/// A message of the active branch that has alternatives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fork {
    /// The active message.
    pub message: MessageId,
    /// All alternatives including the active one, oldest first.
    pub branches: Vec<MessageId>,
}

fn forks(nodes: &[Node]) -> Vec<Fork> {
    let tree = Tree::new(nodes);
    let present = tree.nodes.iter().filter(|node| node.is_present());
    let fork = |node: &Node| {
        let siblings = tree.children.get(&tree.parents.get(&node.id).copied().flatten())?;
        let branches: Vec<MessageId> = siblings.iter().map(|node| MessageId(node.id)).collect();
        (branches.len() > 1).then_some(Fork { message: MessageId(node.id), branches })
    };
    present.filter_map(fork).collect()
}

/// A message of an inactive branch, with the columns that the data API serves. JSON columns are unparsed.
#[derive(Debug, Clone, sqlx::FromRow)]
pub struct AsideMessage {
    /// Id of the message.
    pub id: Uuid,
    /// Id of the chat.
    pub session_id: Uuid,
    /// Role: `user` or `assistant`.
    pub role: String,
    /// Text.
    pub content: String,
    /// Tool calls, a JSON list.
    pub tool_calls: String,
    /// Parts, a JSON list.
    pub parts: Option<String>,
    /// State of the response, see [`MessageStatus`](domain::message::MessageStatus).
    pub status: Option<String>,
    /// Error message for the user.
    pub error: Option<String>,
    /// Model, as `provider/name`.
    pub model: Option<String>,
    /// Time of creation, in microseconds since 1970.
    pub created_at: i64,
    /// Preceding message; `None` if it begins the chat.
    pub parent_id: Option<Uuid>,
}

impl BranchRepository<'_> {
    /// Makes the branch through a message the active one. Returns whether anything changed.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if the owner's chat has no such message, [`Error::Conflict`] while a turn is running in the
    /// chat.
    pub async fn switch(self, owner: UserId, chat: ChatId, to: MessageId, now: Timestamp) -> Result<bool, Error> {
        transaction!(self.storage, |tx| {
            let nodes = sqlx::query_as::<_, Node>(LIST_NODES).bind(chat.0).bind(owner.0).fetch_all(&mut *tx).await?;
            let moves = switch(&nodes, to).ok_or(Error::NotFound)?;
            if moves == Moves::default() {
                return Ok(false);
            }
            // Read in the transaction that moves the messages; a running turn would append to a branch that is no
            // longer active.
            let answered = sqlx::query_scalar::<_, i64>(IS_ANSWERED).bind(chat.0).bind(owner.0);
            if answered.fetch_one(&mut *tx).await? > 0 {
                return Err(Error::Conflict("an answer that is being written".to_owned()));
            }
            make!(tx, moves, chat, owner, now);
            Ok(true)
        })
    }

    /// Returns the [`Fork`]s of the active branch, in order.
    pub async fn list_forks(self, owner: UserId, chat: ChatId) -> Result<Vec<Fork>, Error> {
        // Most chats have no branches. They are served without loading the tree.
        let aside = read!(self.storage, |c| sqlx::query_scalar::<_, i64>(IS_BRANCHED)
            .bind(chat.0)
            .bind(owner.0)
            .fetch_one(c)
            .await)?;
        if aside == 0 {
            return Ok(Vec::new());
        }
        let nodes = read!(self.storage, |c| sqlx::query_as::<_, Node>(LIST_NODES)
            .bind(chat.0)
            .bind(owner.0)
            .fetch_all(c)
            .await)?;
        Ok(forks(&nodes))
    }

    /// Returns the messages of the inactive branches of a chat, oldest first.
    pub async fn list_inactive(self, owner: UserId, chat: ChatId) -> Result<Vec<AsideMessage>, Error> {
        let rows = read!(self.storage, |c| sqlx::query_as::<_, AsideMessage>(LIST_ASIDE)
            .bind(chat.0)
            .bind(owner.0)
            .fetch_all(c)
            .await)?;
        Ok(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u128) -> Uuid {
        Uuid::from_u128(number)
    }

    fn present(number: u128) -> Node {
        let role = if number % 2 == 1 { Role::User } else { Role::Assistant };
        Node { id: id(number), role: role.as_str().to_owned(), parent_id: None, inactive_since: None }
    }

    fn aside(number: u128, parent: Option<u128>, at: i64) -> Node {
        Node { parent_id: parent.map(id), inactive_since: Some(at), ..present(number) }
    }

    fn apply(nodes: &mut [Node], moves: &Moves, now: i64) {
        for node in nodes {
            if let Some((_, parent)) = moves.leave.iter().find(|(id, _)| *id == node.id) {
                (node.parent_id, node.inactive_since) = (*parent, Some(now));
            }
            if moves.come.contains(&node.id) {
                (node.parent_id, node.inactive_since) = (None, None);
            }
        }
    }

    fn branch(nodes: &[Node]) -> Vec<u128> {
        nodes.iter().filter(|node| node.is_present()).map(|node| node.id.as_u128()).collect()
    }

    #[test]
    fn a_turn_begins_where_it_may() {
        let nodes: Vec<Node> = (1..=4).map(present).collect();
        let leaves = |place, words| {
            begin(&nodes, place, words).map(|moves| moves.leave.iter().map(|(id, _)| id.as_u128()).collect::<Vec<_>>())
        };
        let message = |number| MessageId(id(number));
        assert_eq!(leaves(TurnPosition::End, true), Some(vec![]));
        assert_eq!(leaves(TurnPosition::Replace(message(3)), true), Some(vec![3, 4]));
        assert_eq!(leaves(TurnPosition::Replace(message(2)), false), Some(vec![2, 3, 4]));
        assert_eq!(leaves(TurnPosition::Replace(message(2)), true), None, "an answer is not written by its person");
        assert_eq!(leaves(TurnPosition::Replace(message(3)), false), None, "words are not made anew");
        assert_eq!(leaves(TurnPosition::Continue(message(4)), false), Some(vec![]));
        assert_eq!(leaves(TurnPosition::Continue(message(2)), false), None, "it is not the last");
        assert_eq!(leaves(TurnPosition::Continue(message(9)), false), None, "it is not there");
    }

    #[test]
    fn an_answer_that_was_gone_on_with_is_replaced_whole() {
        let nodes = [present(1), present(2), present(4)];
        let moves = begin(&nodes, TurnPosition::Replace(MessageId(id(4))), false).unwrap();
        assert_eq!(moves.leave, [(id(2), Some(id(1))), (id(4), Some(id(2)))]);
    }

    #[test]
    fn branches_come_and_go_and_are_as_they_were() {
        // 1 2 3 4; then 3 was edited, which gave 5 with the response 6; then the response 2 was regenerated: 8.
        let mut nodes = vec![
            present(1),
            aside(2, Some(1), 20),
            aside(3, Some(2), 10),
            aside(4, Some(3), 10),
            aside(5, Some(2), 20),
            aside(6, Some(5), 20),
            present(8),
        ];
        let two_and_eight = Fork { message: MessageId(id(8)), branches: vec![MessageId(id(2)), MessageId(id(8))] };
        assert_eq!(forks(&nodes), [two_and_eight]);
        let moves = switch(&nodes, MessageId(id(2))).unwrap();
        apply(&mut nodes, &moves, 30);
        assert_eq!(branch(&nodes), [1, 2, 5, 6], "down to what was seen last");
        let shown: Vec<u128> = forks(&nodes).iter().map(|fork| fork.message.0.as_u128()).collect();
        assert_eq!(shown, [2, 5]);
        let moves = switch(&nodes, MessageId(id(4))).unwrap();
        apply(&mut nodes, &moves, 40);
        assert_eq!(branch(&nodes), [1, 2, 3, 4]);
        let moves = switch(&nodes, MessageId(id(8))).unwrap();
        apply(&mut nodes, &moves, 50);
        assert_eq!(branch(&nodes), [1, 8]);
        assert_eq!(switch(&nodes, MessageId(id(8))), Some(Moves::default()));
        assert_eq!(switch(&nodes, MessageId(id(9))), None);
    }

    #[test]
    fn odd_trees_end() {
        let mut nodes = vec![aside(1, Some(3), 1), aside(3, Some(1), 1), aside(5, Some(99), 1), present(7)];
        let moves = switch(&nodes, MessageId(id(1))).unwrap();
        apply(&mut nodes, &moves, 2);
        assert_eq!(branch(&nodes), [1, 3]);
        let moves = switch(&nodes, MessageId(id(5))).unwrap();
        apply(&mut nodes, &moves, 3);
        assert_eq!(branch(&nodes), [5], "what it stood after is gone: it begins the chat");
    }
}
