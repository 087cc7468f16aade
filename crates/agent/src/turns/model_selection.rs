//! Selection of the model that answers in a chat, and of its settings.

use domain::model::{ModelError, ModelSettings};
use domain::{ChatId, UserId};
use storage::Storage;
use storage::model_settings::ModelDefaults;

use super::BeginError;
use super::TurnService;
use crate::models::ModelId;

/// Returns the model of a turn and its settings: the `requested` model, or else the one that the user chose for the chat,
/// or else the default model.
///
/// # Errors
///
/// [`BeginError::Model`] if the model is not available or a quota of the user is used up, [`BeginError::Storage`] if the
/// database fails.
pub async fn select_model(
    turns: &TurnService,
    home: &Storage,
    owner: UserId,
    chat: ChatId,
    requested: Option<ModelId>,
) -> Result<(ModelId, ModelSettings), BeginError> {
    let (own, defaults) = read_choices(turns, home, owner, chat).await.map_err(BeginError::Storage)?;
    let model = match (requested, own.model) {
        (Some(requested), _) => requested,
        (None, None) => turns.models.default_of(owner, defaults.model.as_deref()).await?,
        // No silent fallback: another provider would receive the conversation without the user's consent.
        (None, Some(chosen)) => {
            turns.models.find(owner, &chosen).await.map_err(BeginError::Storage)?.ok_or_else(|| {
                let reason = format!("The model {chosen} of this chat is no longer available. Choose another one.");
                ModelError::Unavailable(reason)
            })?
        }
    };
    turns.models.quotas.check_turns(owner).await?;
    turns.models.check_quotas(owner, &model).await?;
    Ok((model, own.settings.over(defaults.settings)))
}

/// Returns the model settings of a chat.
pub async fn chat_settings(
    turns: &TurnService,
    home: &Storage,
    owner: UserId,
    chat: ChatId,
) -> Result<ModelSettings, storage::Error> {
    let (own, defaults) = read_choices(turns, home, owner, chat).await?;
    Ok(own.settings.over(defaults.settings))
}

/// Returns the user's choices for the chat and the user's defaults.
async fn read_choices(
    turns: &TurnService,
    home: &Storage,
    owner: UserId,
    chat: ChatId,
) -> Result<(ModelDefaults, ModelDefaults), storage::Error> {
    let (own, defaults) = home.models().get_choices(owner, chat).await?;
    // The store of a temporary chat contains nothing but the chat, so the defaults are read from the database.
    let defaults = if home.is_lasting() { defaults } else { turns.storage.models().get_defaults(owner).await? };
    Ok((own, defaults))
}

/// Returns the [reason](ModelError) for which no turn could begin in a chat now, if there is one: the model is not
/// available, or a quota is used up.
pub async fn check_can_begin(
    turns: &TurnService,
    home: &Storage,
    owner: UserId,
    chat: ChatId,
) -> Result<Option<ModelError>, storage::Error> {
    match select_model(turns, home, owner, chat, None).await {
        Err(BeginError::Model(error)) => Ok(Some(error)),
        Err(BeginError::Storage(error)) => Err(error),
        Ok(_) | Err(_) => Ok(None),
    }
}
