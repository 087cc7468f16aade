//! Steering a run from any node: what the one that drives it has to know stands in the database first.

use std::sync::Arc;

use domain::{ChatId, RunId, UserId};
use store::runs::Order;

use super::asker::stored_answer;
use super::{Run, Runs};
use crate::app::App;
use crate::nodes::Told;

impl Runs {
    /// Ends the turn that goes on in a chat; what it has said is kept. Says whether there was one.
    pub async fn stop_run(&self, app: &App, owner: UserId, chat: ChatId) -> Result<bool, store::Error> {
        if let Some(run) = self.get(owner, chat) {
            run.stop.cancel();
            return Ok(true);
        }
        Ok(app.store.is_shared() && app.store.order(owner, chat, &Order::Stop).await?)
    }

    /// Ends the turn of a chat that is not there any more: no other node finds it in the database.
    pub fn end_deleted(&self, app: &App, owner: UserId, chat: ChatId) {
        app.post.tell(|| Told::Deleted { user: owner, chat });
        self.end_here(owner, chat);
    }

    /// The same on this node alone.
    pub fn end_here(&self, owner: UserId, chat: ChatId) {
        if let Some(run) = self.get(owner, chat) {
            run.stop.cancel();
        }
    }

    /// Stops one call of the turn that goes on in a chat; the turn goes on without its result. Says whether there was one.
    pub async fn cancel_call(&self, app: &App, owner: UserId, chat: ChatId, call: &str) -> Result<bool, store::Error> {
        if let Some(run) = self.get(owner, chat) {
            return Ok(run.calls.cancel(call));
        }
        Ok(app.store.is_shared() && app.store.order(owner, chat, &Order::Cancel(call.to_owned())).await?)
    }

    /// Ends every turn of a person on the other nodes.
    pub(super) async fn stop_elsewhere(&self, app: &App, owner: UserId) {
        if app.store.is_shared()
            && let Err(error) = app.store.order_all(owner, &Order::Stop).await
        {
            tracing::error!(%error, "the runs of a person could not be stopped on other nodes");
        }
    }

    /// Lets the other nodes look what was decided and answered. Where that fails, a person answers again.
    pub(super) async fn let_look(&self, app: &App, owner: UserId) -> Result<(), store::Error> {
        if app.store.is_shared() { app.store.order_all(owner, &Order::Look).await } else { Ok(()) }
    }

    /// Does what is wanted of the runs of this node. Safe to repeat.
    pub async fn follow_orders(&self, app: &App) -> Result<(), store::Error> {
        for (id, order) in app.store.list_orders().await? {
            let Some(run) = self.get_here(id) else { continue };
            match order {
                Order::Stop => run.stop.cancel(),
                Order::GiveWay => run.give_way(),
                Order::Cancel(call) => drop(run.calls.cancel(&call)),
                Order::Look => look(app, &run).await?,
            }
        }
        Ok(())
    }

    fn get_here(&self, id: RunId) -> Option<Arc<Run>> {
        self.active().values().find(|run| run.id == id).cloned()
    }

    /// Lets all runs go that this node drives: another one does.
    pub fn lose_all(&self) {
        for run in self.active().values() {
            run.lost.cancel();
        }
    }
}

/// Hands what was decided and answered to the calls that wait for it.
async fn look(app: &App, run: &Run) -> Result<(), store::Error> {
    for approval in app.store.list_approvals(run.owner, run.id).await? {
        if let Some(decided) = approval.decided {
            run.questions.decide(approval.id, decided);
        }
    }
    for asked in app.store.list_elicitations(run.owner, run.id).await? {
        if let (Some(answered), Some(open)) = (&asked.answered, run.questions.open(asked.id)) {
            run.questions.tell(asked.id, stored_answer(app, asked.id, answered, open.form.as_ref()));
        }
    }
    Ok(())
}
