//! Commands to turns from any node. A command is stored in the database, and the node that runs the turn follows it.

use std::sync::Arc;

use domain::{ChatId, RunId, UserId};
use storage::runs::RunCommand;

use super::asker::stored_answer;
use super::{Run, TurnService};
use platform::ClusterMessage;

impl TurnService {
    /// Stops the turn in progress in a chat; the answer so far is stored. Returns whether there was one.
    pub async fn stop_run(&self, owner: UserId, chat: ChatId) -> Result<bool, storage::Error> {
        if let Some(run) = self.get(owner, chat) {
            run.stop.cancel();
            return Ok(true);
        }
        Ok(self.storage.is_shared() && self.storage.turns().send_command(owner, chat, &RunCommand::Stop).await?)
    }

    /// Stops the turn of a deleted chat on every node. A stored command would not reach it, because the turn's row is
    /// deleted with the chat; so it is published on the cluster bus ([`ClusterMessage::ChatDeleted`]).
    pub fn end_deleted(&self, owner: UserId, chat: ChatId) {
        self.cluster.publish(|| ClusterMessage::ChatDeleted { user: owner, chat });
        self.end_here(owner, chat);
    }

    /// Stops the turn of a deleted chat on this node.
    pub fn end_here(&self, owner: UserId, chat: ChatId) {
        if let Some(run) = self.get(owner, chat) {
            run.stop.cancel();
        }
    }

    /// Cancels one tool call of the turn in progress in a chat; the turn continues without its result. Returns
    /// whether there was one.
    pub async fn cancel_call(&self, owner: UserId, chat: ChatId, call: &str) -> Result<bool, storage::Error> {
        if let Some(run) = self.get(owner, chat) {
            return Ok(run.calls.cancel(call));
        }
        Ok(self.storage.is_shared()
            && self.storage.turns().send_command(owner, chat, &RunCommand::Cancel(call.to_owned())).await?)
    }

    /// Stops all turns of a user on the other nodes. A failure is logged.
    pub(super) async fn stop_elsewhere(&self, owner: UserId) {
        if self.storage.is_shared()
            && let Err(error) = self.storage.turns().send_command_to_all(owner, &RunCommand::Stop).await
        {
            tracing::error!(%error, "the runs of a person could not be stopped on other nodes");
        }
    }

    /// Notifies the other nodes of a user's new decision or answer. If that fails, the user has to answer again.
    pub(super) async fn let_look(&self, owner: UserId) -> Result<(), storage::Error> {
        if self.storage.is_shared() {
            self.storage.turns().send_command_to_all(owner, &RunCommand::Refresh).await
        } else {
            Ok(())
        }
    }

    /// Executes the stored [commands](RunCommand) to the turns of this node. Repeating it is harmless.
    pub async fn follow_orders(&self) -> Result<(), storage::Error> {
        for (id, order) in self.storage.turns().list_commands().await? {
            // The turn may have ended meanwhile.
            let Some(run) = self.get_here(id) else { continue };
            match order {
                RunCommand::Stop => run.stop.cancel(),
                RunCommand::Preempt => run.give_way(),
                RunCommand::Cancel(call) => drop(run.calls.cancel(&call)),
                RunCommand::Refresh => look(self, &run).await?,
            }
        }
        Ok(())
    }

    /// Returns a turn of this node.
    fn get_here(&self, id: RunId) -> Option<Arc<Run>> {
        self.active().values().find(|run| run.id == id).cloned()
    }

    /// Detaches all turns of this node: it was declared dead, and they were reassigned to other nodes.
    pub fn lose_all(&self) {
        for run in self.active().values() {
            run.lost.cancel();
        }
    }
}

/// Loads the stored decisions and answers of a turn, and delivers them to the calls that wait.
async fn look(turns: &TurnService, run: &Run) -> Result<(), storage::Error> {
    for approval in turns.storage.approvals().list(run.owner, run.id).await? {
        if let Some(decided) = approval.decided {
            run.questions.decide(approval.id, decided);
        }
    }
    for asked in turns.storage.elicitations().list(run.owner, run.id).await? {
        if let (Some(answered), Some(open)) = (&asked.answered, run.questions.open(asked.id)) {
            run.questions.tell(asked.id, stored_answer(turns, asked.id, answered, open.form.as_ref()));
        }
    }
    Ok(())
}
