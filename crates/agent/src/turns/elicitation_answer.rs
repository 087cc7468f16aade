//! Answers to elicitations and sign-in requests. The first answer of any tab or node holds.

use connections::elicitation_response;
use domain::elicitation::Action;
use domain::{ChatId, InteractionId, TurnId, UserId};
use mcp::ElicitationForm;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use storage::interactions::{Interaction, SealedAnswer, StoredResponse};

use super::TurnService;
use super::elicitation_handler::seal_answer;
use super::event::TurnEvent;
use super::journal_codec::decode_journal;
use super::pending_interactions::InteractionResponse;
use super::transcript::Transcript;

/// Answer that holds for an [elicitation](Interaction).
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct AppliedAnswer {
    /// Action that was chosen.
    pub action: Action,
    /// Whether this request gave the answer, and no earlier one.
    pub first: bool,
}

/// Reason for which an answer was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    /// The user has no such elicitation in this chat.
    #[error("elicitation not found")]
    NotFound,
    /// The content does not match the form. The text names the field.
    #[error("{0}")]
    BadContent(String),
    /// The elicitation was withdrawn, or its turn has ended.
    #[error("this request is no longer waiting for an answer")]
    Closed,
    /// The content could not be encrypted.
    #[error(transparent)]
    Seal(#[from] platform::secret_sealing::SealError),
    /// The database failed.
    #[error(transparent)]
    Storage(#[from] storage::Error),
}

impl TurnService {
    /// Answers an elicitation. If it is answered already, that answer is returned.
    ///
    /// # Errors
    ///
    /// See [`AnswerError`].
    pub async fn answer_elicitation(
        &self,
        (owner, chat): (UserId, ChatId),
        id: InteractionId,
        action: Action,
        content: Map<String, Value>,
    ) -> Result<AppliedAnswer, AnswerError> {
        let home = self.temporary.store_for(owner, chat);
        let interaction = load_elicitation(self, owner, chat, id).await?;
        if let Some(earlier) = interaction.answer() {
            self.deliver_again(owner, interaction.turn).await?;
            return Ok(AppliedAnswer { action: earlier.action, first: false });
        }
        let turn = self.find_by_id(owner, interaction.turn);
        let asked = match &turn {
            // The transcript knows at once whether the elicitation is open; without the check, an answer to a closed
            // one would wait here in vain.
            Some(turn) if turn.transcript().awaits_elicitation(id) => {
                turn.interactions.wait_for_elicitation(id).await.map(|asked| asked.form)
            }
            Some(_) => None,
            None => find_remote_elicitation(self, owner, interaction.turn, id).await?,
        };
        // No call waits for it. It may have been answered since it was read.
        let Some(form) = asked else { return earlier_answer(self, owner, chat, id).await };
        let answer = elicitation_response(action, content.clone(), form.as_ref())
            .map_err(|error| AnswerError::BadContent(error.to_string()))?;
        // Content of a declined form would be stored although the server never gets it.
        let filled_in = action == Action::Accept && form.is_some();
        let content = filled_in.then(|| seal_answer(self, id, &content)).transpose()?;
        let response = StoredResponse::Answer(SealedAnswer { action, content });
        if home.interactions().respond(owner, id, &response, None, self.clock.now()).await? {
            // Stored before it is delivered: a call that continues must find its answer after a crash.
            match turn {
                Some(turn) => turn.interactions.deliver(id, InteractionResponse::Answer(answer)),
                None => self.notify_nodes(owner).await?,
            }
            return Ok(AppliedAnswer { action, first: true });
        }
        earlier_answer(self, owner, chat, id).await
    }
}

/// Looks up an elicitation that a turn on another node waits for. Returns its [form](ElicitationForm), if it has one,
/// in `Some`, or `None` if no turn waits for it.
async fn find_remote_elicitation(
    turns: &TurnService,
    owner: UserId,
    turn_id: TurnId,
    id: InteractionId,
) -> Result<Option<Option<ElicitationForm>>, storage::Error> {
    let mut transcript = Transcript::default();
    let mut request = None;
    for (_, event) in decode_journal(turn_id, &turns.storage.turns().list_chunks(owner, turn_id).await?).events {
        transcript.apply(&event);
        match event {
            TurnEvent::DataElicitation { id: asked, data } if asked == id && data.request.is_some() => {
                request = data.request;
            }
            _ => {}
        }
    }
    let form = || serde_json::from_value(request.filter(|request| request["mode"] == "form")?).ok();
    let is_open = transcript.awaits_elicitation(id) && turns.storage.turns().is_running(owner, turn_id).await?;
    Ok(is_open.then(form))
}

/// Returns the answer that another request has given.
async fn earlier_answer(
    turns: &TurnService,
    owner: UserId,
    chat: ChatId,
    id: InteractionId,
) -> Result<AppliedAnswer, AnswerError> {
    let interaction = load_elicitation(turns, owner, chat, id).await?;
    let earlier = interaction.answer().ok_or(AnswerError::Closed)?;
    Ok(AppliedAnswer { action: earlier.action, first: false })
}

/// Loads an elicitation or a sign-in of the user's chat.
async fn load_elicitation(
    turns: &TurnService,
    owner: UserId,
    chat: ChatId,
    id: InteractionId,
) -> Result<Interaction, AnswerError> {
    let found = turns.temporary.store_for(owner, chat).interactions().get(owner, chat, id).await?;
    found.filter(|interaction| interaction.approval().is_none()).ok_or(AnswerError::NotFound)
}
