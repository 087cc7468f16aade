//! A person answers a question that a call waits with: once, in whichever tab comes first.

use domain::elicitation::Action;
use domain::{ChatId, ElicitationId, RunId, UserId};
use mcp::ElicitationForm;
use serde::Serialize;
use serde_json::{Map, Value};
use store::elicitations::Answered;

use super::Runs;
use super::asker::seal_content;
use super::chunks::events_of;
use super::event::RunEvent;
use super::transcript::Transcript;
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
    Seal(#[from] platform::secret_sealing::SealError),
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
        let home = app.home(owner, chat);
        let row = home.get_elicitation(owner, chat, id).await?.ok_or(AnswerError::NotFound)?;
        if let Some(earlier) = row.answered {
            return Ok(Reply { action: earlier.action, first: false });
        }
        let run = self.get_by_id(owner, row.run);
        let asked = match &run {
            Some(run) if run.transcript().asks(id) => run.questions.asked(id).await.map(|asked| asked.form),
            Some(_) => None,
            None => asked_elsewhere(app, owner, row.run, id).await?,
        };
        // It may have been answered since it was read.
        let Some(form) = asked else { return earlier(app, owner, chat, id).await };
        let said = answer(action, content.clone(), form.as_ref()).map_err(AnswerError::BadContent)?;
        let filled_in = action == Action::Accept && form.is_some();
        let content = filled_in.then(|| seal_content(app, id, &content)).transpose()?;
        if home.answer_elicitation(owner, id, &Answered { action, content }, app.clock.now()).await? {
            match run {
                Some(run) => run.questions.tell(id, said),
                None => self.let_look(app, owner).await?,
            }
            return Ok(Reply { action, first: true });
        }
        earlier(app, owner, chat, id).await
    }
}

/// The form of a question that a run of another node waits with, if it is one; nothing when nobody waits for it.
async fn asked_elsewhere(
    app: &App,
    owner: UserId,
    run: RunId,
    id: ElicitationId,
) -> Result<Option<Option<ElicitationForm>>, store::Error> {
    let mut transcript = Transcript::default();
    let mut request = None;
    for (_, event) in events_of(run, &app.store.list_chunks(owner, run).await?).events {
        transcript.apply(&event);
        match event {
            RunEvent::DataElicitation { id: asked, data } if asked == id && data.request.is_some() => {
                request = data.request;
            }
            _ => {}
        }
    }
    let form = || serde_json::from_value(request.filter(|request| request["mode"] == "form")?).ok();
    let is_open = transcript.asks(id) && app.store.is_running(owner, run).await?;
    Ok(is_open.then(form))
}

/// What somebody else has answered.
async fn earlier(app: &App, owner: UserId, chat: ChatId, id: ElicitationId) -> Result<Reply, AnswerError> {
    let row = app.home(owner, chat).get_elicitation(owner, chat, id).await?;
    let earlier = row.and_then(|row| row.answered).ok_or(AnswerError::Closed)?;
    Ok(Reply { action: earlier.action, first: false })
}
