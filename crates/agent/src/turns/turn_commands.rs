//! Commands to turns from any node. A command is stored in the database, and the node that runs the turn follows it.

use std::sync::Arc;

use domain::{ChatId, TurnId, UserId};
use storage::interactions::{Interaction, StoredResponse};
use storage::turns::TurnCommand;

use super::elicitation_handler::open_stored_answer;
use super::pending_interactions::InteractionResponse;
use super::{Turn, TurnService};
use platform::ClusterMessage;

impl TurnService {
    /// Stops the turn in progress in a chat; the answer so far is stored. Returns whether there was one.
    pub async fn stop(&self, owner: UserId, chat: ChatId) -> Result<bool, storage::Error> {
        if let Some(turn) = self.find(owner, chat) {
            turn.stop.cancel();
            return Ok(true);
        }
        Ok(self.storage.is_shared() && self.storage.turns().send_command(owner, chat, &TurnCommand::Stop).await?)
    }

    /// Stops the turn of a deleted chat on every node. A stored command would not reach it, because the turn's row is
    /// deleted with the chat; so it is published on the cluster bus ([`ClusterMessage::ChatDeleted`]).
    pub fn stop_deleted_chat(&self, owner: UserId, chat: ChatId) {
        self.cluster.publish(|| ClusterMessage::ChatDeleted { user: owner, chat });
        self.stop_here(owner, chat);
    }

    /// Stops the turn of a deleted chat on this node.
    pub fn stop_here(&self, owner: UserId, chat: ChatId) {
        if let Some(turn) = self.find(owner, chat) {
            turn.stop.cancel();
        }
    }

    /// Cancels one tool call of the turn in progress in a chat; the turn continues without its result. Returns
    /// whether there was one.
    pub async fn cancel_call(&self, owner: UserId, chat: ChatId, call: &str) -> Result<bool, storage::Error> {
        if let Some(turn) = self.find(owner, chat) {
            return Ok(turn.calls.cancel(call));
        }
        Ok(self.storage.is_shared()
            && self.storage.turns().send_command(owner, chat, &TurnCommand::Cancel(call.to_owned())).await?)
    }

    /// Stops all turns of a user on the other nodes. A failure is logged.
    pub(super) async fn stop_on_other_nodes(&self, owner: UserId) {
        if self.storage.is_shared()
            && let Err(error) = self.storage.turns().send_command_to_all(owner, &TurnCommand::Stop).await
        {
            tracing::error!(%error, "the turns of a user could not be stopped on other nodes");
        }
    }

    /// Notifies the other nodes of a user's new decision or answer. If that fails, the user has to answer again.
    pub(super) async fn notify_nodes(&self, owner: UserId) -> Result<(), storage::Error> {
        if self.storage.is_shared() {
            self.storage.turns().send_command_to_all(owner, &TurnCommand::Refresh).await
        } else {
            Ok(())
        }
    }

    /// Delivers the stored responses to a turn's interactions once more, on whichever node it runs. The request that stored
    /// one may have failed before it could deliver it, for example because the database went away after its commit; the
    /// user then responds again. Repeating it is harmless.
    pub(super) async fn deliver_again(&self, owner: UserId, turn: TurnId) -> Result<(), storage::Error> {
        match self.find_by_id(owner, turn) {
            Some(turn) => deliver_stored_responses(self, &turn).await,
            None => self.notify_nodes(owner).await,
        }
    }

    /// Executes the stored [commands](TurnCommand) to the turns of this node. Repeating it is harmless.
    pub async fn execute_commands(&self) -> Result<(), storage::Error> {
        // Commands stay in the table until the turn ends, and are executed with each heartbeat again: each must be harmless
        // the second time.
        for (id, command) in self.storage.turns().list_commands().await? {
            // The turn may have ended meanwhile.
            let Some(turn) = self.find_here(id) else { continue };
            match command {
                TurnCommand::Stop => turn.stop.cancel(),
                TurnCommand::Preempt => turn.preempt(),
                TurnCommand::Cancel(call) => drop(turn.calls.cancel(&call)),
                TurnCommand::Refresh => deliver_stored_responses(self, &turn).await?,
            }
        }
        Ok(())
    }

    /// Returns a turn of this node.
    fn find_here(&self, id: TurnId) -> Option<Arc<Turn>> {
        self.active().values().find(|turn| turn.id == id).cloned()
    }

    /// Detaches all turns of this node: it was declared dead, and they were reassigned to other nodes.
    pub fn abandon_all(&self) {
        // Only signalled: each turn's own task detaches it, so that nothing is removed from the map while it is read.
        for turn in self.active().values() {
            turn.ownership_lost.cancel();
        }
    }
}

/// Loads the stored responses to a turn's interactions, and delivers them to the calls that wait.
pub(super) async fn deliver_stored_responses(turns: &TurnService, turn: &Turn) -> Result<(), storage::Error> {
    for Interaction { id, response, .. } in turns.storage.interactions().list(turn.owner, turn.id).await? {
        match response {
            Some(StoredResponse::Decision(decision)) => {
                turn.interactions.deliver(id, InteractionResponse::Decision(decision));
            }
            // An answer is checked against its form, which the waiting call knows. One that does not wait yet reads the
            // stored answer itself.
            Some(StoredResponse::Answer(answer)) => {
                if let Some(open) = turn.interactions.find_elicitation(id) {
                    let answer = open_stored_answer(turns, id, &answer, open.form.as_ref());
                    turn.interactions.deliver(id, InteractionResponse::Answer(answer));
                }
            }
            None => {}
        }
    }
    Ok(())
}
