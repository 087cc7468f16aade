//! A person answers a question that a call waits with: once, in whichever tab comes first.

use domain::elicitation::Action;
use domain::{ChatId, ElicitationId, UserId};
use serde::Serialize;
use serde_json::{Map, Value};
use store::elicitations::Answered;

use super::Runs;
use super::asker::seal_content;
use crate::app::App;
use crate::tools::answer;

/// What holds after somebody has answered.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Reply {
    /// What was answered.
    pub action: Action,
    /// Whether this very request answered it.
    pub first: bool,
}

/// Why nothing was answered.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    /// No such question among the person's own.
    #[error("elicitation not found")]
    NotFound,
    /// What was filled in is not what is asked for.
    #[error("{0}")]
    BadContent(String),
    /// The question was withdrawn, or its run ended.
    #[error("nobody waits for this answer any more")]
    Closed,
    /// What was filled in could not be sealed.
    #[error(transparent)]
    Seal(#[from] crate::secrets::Error),
    /// The database.
    #[error(transparent)]
    Store(#[from] store::Error),
}

impl Runs {
    /// Answers a question. The first answer holds; whoever comes later is told it.
    pub async fn answer(
        &self,
        app: &App,
        (owner, chat): (UserId, ChatId),
        id: ElicitationId,
        action: Action,
        content: Map<String, Value>,
    ) -> Result<Reply, AnswerError> {
        let row = app.store.get_elicitation(owner, chat, id).await?.ok_or(AnswerError::NotFound)?;
        if let Some(earlier) = row.answered {
            return Ok(Reply { action: earlier.action, first: false });
        }
        let asked = match self.get(owner, chat).filter(|run| run.id == row.run) {
            Some(run) if run.transcript().asks(id) => run.questions.asked(id).await.map(|asked| (run, asked)),
            _ => None,
        };
        // It may have been answered since it was read.
        let Some((run, asked)) = asked else { return earlier(app, owner, chat, id).await };
        let said = answer(action, content.clone(), asked.form.as_ref()).map_err(AnswerError::BadContent)?;
        let filled_in = action == Action::Accept && asked.form.is_some();
        let content = filled_in.then(|| seal_content(app, id, &content)).transpose()?;
        if app.store.answer_elicitation(owner, id, &Answered { action, content }, app.clock.now()).await? {
            run.questions.tell(id, said);
            return Ok(Reply { action, first: true });
        }
        earlier(app, owner, chat, id).await
    }
}

/// What somebody else has answered.
async fn earlier(app: &App, owner: UserId, chat: ChatId, id: ElicitationId) -> Result<Reply, AnswerError> {
    let row = app.store.get_elicitation(owner, chat, id).await?;
    let earlier = row.and_then(|row| row.answered).ok_or(AnswerError::Closed)?;
    Ok(Reply { action: earlier.action, first: false })
}
